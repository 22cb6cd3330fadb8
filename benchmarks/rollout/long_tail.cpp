#include "long_tail.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "physarum/base/philox.hpp"

#include "physarum/model/parameter_store.hpp"

#include "engine_setup.hpp"
#include "model/smollm2_shape.hpp"

namespace physarum::rollout {

std::int64_t LongTail::length(base::SampleId id) const {
  // ln 20 / the 99th percentile of the standard normal distribution.
  constexpr double sigma = 2.995732 / 2.326348;
  const base::RandomStream stream(seed_, base::StreamKind::test);
  const double normal = stream.normal(static_cast<std::uint64_t>(id.value()), 0);
  const double length = std::round(static_cast<double>(median_) * std::exp(sigma * normal));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(length), 1, longest());
}

double ks_distance(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  double distance = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const auto value = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == value) ++i;
    while (j < b.size() && b[j] == value) ++j;
    distance = std::max(distance, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                           static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return distance;
}

double step_seconds(std::int64_t rows) {
  // Milliseconds of a decode step at so many sequences.
  constexpr std::pair<double, double> measured[] = {{0, 0},     {1, 8.0},   {8, 11.9},
                                                    {32, 44.8}, {64, 94.6}, {1024, 1090.5}};
  const auto wanted = static_cast<double>(rows);
  std::size_t i = 1;
  while (i + 1 < std::size(measured) && measured[i].first < wanted) ++i;
  const auto [from, from_ms] = measured[i - 1];
  const auto [to, to_ms] = measured[i];
  return (from_ms + (wanted - from) * (to_ms - from_ms) / (to - from)) / 1000;
}

double ks_limit(std::size_t a, std::size_t b) {
  const auto n = static_cast<double>(a), m = static_cast<double>(b);
  return 1.358 * std::sqrt((n + m) / (n * m));
}

buffer::testing::CircleOptions circle_options(Form form, std::int64_t steps) {
  buffer::testing::CircleOptions options;
  options.buffer.rollout_batch_size = 8;
  options.buffer.n_samples_per_prompt = 4;
  options.buffer.num_rollout = steps;
  options.buffer.save_samples = false;
  options.buffer.lease_deadline_s = 1e6;
  options.buffer.distributed_timeout_minutes = 1e5;
  if (form != Form::plain)
    options.buffer.over_sampling_batch_size = form == Form::in_place ? 12 : 10;
  options.buffer.partial_rollout = form == Form::partial || form == Form::in_place;
  options.buffer.validate();
  options.num_rollout = steps;
  options.engine_samples = 64;
  options.training_turns = 1;
  return options;
}

std::vector<sample::Sample> trained(const buffer::testing::Circle& circle, std::int64_t first_step,
                                    std::int64_t end_step) {
  std::vector<sample::Sample> samples;
  std::set<base::SampleId> seen;
  for (std::int64_t step = first_step; step < end_step; ++step) {
    for (auto& sample : circle.batch(step)) {
      if (!seen.insert(sample.id).second) throw std::logic_error("a sample was learnt from twice");
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

namespace {
constexpr std::int64_t prompt_tokens = 16;
constexpr std::int64_t vocab_size = 49152;

/// How fast it is does not depend on what is in it.
model::ModelConfig model_of(std::int64_t context) {
  auto config = model::smollm2_shape();
  config.max_position_embeddings = context;
  return config;
}

weights::Image random_image(const model::ModelConfig& config) {
  model::ParameterStore store(config, model::Gradients::none);
  model::initialise(config, 1, store.values());
  weights::Image image(
      weights::make_catalogue(model::tensor_specs(config), weights::TransferType::bf16));
  image.assign(store.values());
  return image;
}
}  // namespace

MeasuredEngine::MeasuredEngine(exchange::Transport& transport, std::vector<base::WorldRank> buffers,
                               const LongTail& lengths, std::int64_t room, PauseGenerationMode mode)
    : client_(transport, std::move(buffers)),
      config_(model_of(prompt_tokens + lengths.longest())),
      image_(random_image(config_)),
      engine_(config_,
              {.context_tokens = prompt_tokens + lengths.longest(),
               .sequences = room,
               .prefill_tokens = 1024,
               .kv_cache_bytes = std::int64_t{2} << 30},
              1),
      lengths_(lengths),
      room_(room),
      mode_(mode) {}

void MeasuredEngine::turn(std::int64_t /*now*/) {
  std::int64_t held = 0;
  for (const auto& work : working_) held += work.lease.n_samples;
  client_.poll(std::max<std::int64_t>(0, room_ - held), engine_.version());
  if (client_.finished()) return;
  follow_weights();
  for (auto& lease : client_.take_leases()) begin(std::move(lease));
  for (const auto& recall : client_.take_recalls()) stop(recall);
  if (engine_.unfinished() == 0) return;
  for (auto& answer : engine_.step()) take(std::move(answer), sample::SampleStatus::truncated);
  std::erase_if(working_, [&](Work& work) {
    if (work.group.has_aborted()) return false;
    client_.hand_in(work.group);
    return true;
  });
}

/// The weights stay what they are, but they are taken anew for each step, as in a real run.
void MeasuredEngine::follow_weights() {
  if (client_.newest_version() <= engine_.version()) return;
  image_.set_version(client_.newest_version());
  engine_.set_weights(image_, mode_);
}

/// One request for each sample: each has a limit of its own.
void MeasuredEngine::begin(sample::Lease lease) {
  const auto prompt = make_prompt(lease.prompt.id.value(), prompt_tokens, vocab_size);
  auto begun = std::exchange(lease.begun, {});
  working_.push_back({lease, {lease.group, lease.prompt.id, lease.purpose, lease.id, {}}});
  for (std::int64_t i = 0; i < lease.n_samples; ++i) {
    sample::Sample sample;
    if (begun.empty()) {
      sample.id = base::SampleId(lease.first_sample.value() + i);
      sample.group = lease.group;
      sample.prompt = lease.prompt.id;
      sample.index_in_group = i;
      sample.prompt_tokens = prompt_tokens;
      sample.tokens = prompt;
      sample.status = sample::SampleStatus::aborted;
    } else {
      sample = std::move(begun[static_cast<std::size_t>(i)]);
    }
    sample.lease = lease.id;
    if (sample.status == sample::SampleStatus::aborted) {
      GenerateRequest request{
          .prompt = prompt, .first_sample = sample.id, .n_samples = 1, .sampling = lease.sampling};
      request.sampling.max_response_tokens = lengths_.length(sample.id);
      request.sampling.max_context_tokens = prompt_tokens + lengths_.longest();
      Generated answer;
      answer.response.assign(sample.tokens.begin() + prompt_tokens, sample.tokens.end());
      answer.log_probs = sample.log_probs;
      answer.versions = sample.versions;
      request.begun.push_back(std::move(answer));
      engine_.add(std::move(request));
    }
    working_.back().group.samples.push_back(std::move(sample));
  }
}

MeasuredEngine::Work& MeasuredEngine::work_of(base::SampleId id) {
  return *std::ranges::find_if(working_, [id](const Work& work) {
    const auto index = id.value() - work.lease.first_sample.value();
    return index >= 0 && index < work.lease.n_samples;
  });
}

void MeasuredEngine::take(Generated answer, sample::SampleStatus status) {
  auto& work = work_of(answer.id);
  const auto index = answer.id.value() - work.lease.first_sample.value();
  auto& sample = work.group.samples[static_cast<std::size_t>(index)];
  sample.tokens.resize(static_cast<std::size_t>(sample.prompt_tokens));
  sample.tokens.insert(sample.tokens.end(), answer.response.begin(), answer.response.end());
  sample.mask.assign(answer.response.size(), 1);
  sample.log_probs = std::move(answer.log_probs);
  sample.versions = std::move(answer.versions);
  sample.status = status;
}

void MeasuredEngine::stop(const exchange::Recall& recall) {
  const auto work =
      std::ranges::find_if(working_, [&](const Work& one) { return one.lease.id == recall.lease; });
  if (work == working_.end()) return;
  for (auto& answer : engine_.give_up(work->lease.first_sample, work->lease.n_samples))
    take(std::move(answer), sample::SampleStatus::aborted);
  if (recall.form == exchange::RecallForm::hand_back) client_.hand_back(work->group);
  working_.erase(work);
}

}  // namespace physarum::rollout
