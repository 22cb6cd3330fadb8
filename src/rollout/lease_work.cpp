#include "lease_work.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"
#include "physarum/base/metrics.hpp"

#include "sequence.hpp"

namespace physarum::rollout {

namespace {
sample::SampleStatus status_of(Ending ending) {
  switch (ending) {
    case Ending::stopped:
    case Ending::matched:
      return sample::SampleStatus::completed;
    case Ending::truncated:
      return sample::SampleStatus::truncated;
    case Ending::aborted:
      return sample::SampleStatus::aborted;
    case Ending::failed:
      break;
  }
  return sample::SampleStatus::failed;
}

/// What the verifier sees: the stop token is not part of the answer; a stop string is.
std::span<const base::TokenId> text_tokens(const Generated& answer) {
  const std::span<const base::TokenId> all(answer.response);
  return answer.ending == Ending::stopped ? all.first(all.size() - 1) : all;
}
}  // namespace

LeaseWork::LeaseWork(sample::Lease lease, const environment::PromptEncoder& encoder)
    : lease_(std::move(lease)),
      prompt_(generates() ? encoder.encode(lease_.prompt) : std::vector<base::TokenId>()),
      samples_(static_cast<std::size_t>(lease_.n_samples)),
      missing_(lease_.n_samples) {}

bool LeaseWork::fits_vocabulary(std::int64_t vocab_size) const {
  return all_below(prompt_, vocab_size) && all_below(lease_.sampling.stop_token_ids, vocab_size);
}

GenerateRequest LeaseWork::request(std::int64_t first, std::int64_t count) const {
  return {.prompt = prompt_,
          .first_sample = base::SampleId(lease_.first_sample.value() + first),
          .n_samples = count,
          .sampling = lease_.sampling};
}

bool LeaseWork::is_stored(std::int64_t index) const {
  return samples_[static_cast<std::size_t>(index)].id.valid();
}

bool LeaseWork::fits(const sample::Sample& begun, std::int64_t room,
                     std::int64_t vocab_size) const {
  const bool same_prompt = std::ssize(prompt_) == begun.prompt_tokens &&
                           std::equal(prompt_.begin(), prompt_.end(), begun.tokens.begin());
  const bool has_room =
      begun.status != sample::SampleStatus::aborted || begun.response_tokens() < room;
  const bool same_record =
      begun.nuclei.size() == (lease_.sampling.records_nuclei() ? begun.response_tokens() : 0);
  const auto top = lease_.sampling.top_log_probs;
  const bool same_top = std::ssize(begun.top_log_probs.ids) == top * begun.response_tokens();
  return same_prompt && has_room && same_record && same_top && all_below(begun.tokens, vocab_size);
}

/// Under the new lease, otherwise as it came.
void LeaseWork::adopt(sample::Sample finished) {
  finished.lease = lease_.id;
  finished.lease_history = lease_.history;
  finished.lease_history.push_back(lease_.id);
  store(std::move(finished));
}

namespace {
Generated generated_of(sample::Sample&& begun) {
  Generated answer;
  answer.id = begun.id;
  answer.response.assign(begun.tokens.begin() + begun.prompt_tokens, begun.tokens.end());
  answer.log_probs = std::move(begun.log_probs);
  answer.nuclei = std::move(begun.nuclei);
  answer.top_log_probs = std::move(begun.top_log_probs);
  answer.versions = std::move(begun.versions);
  answer.seconds = begun.generation_s;
  return answer;
}
}  // namespace

std::vector<GenerateRequest> LeaseWork::take_over(std::int64_t room, std::int64_t vocab_size) {
  auto begun = std::exchange(lease_.begun, {});
  const bool usable = !begun.empty() && std::ranges::all_of(begun, [&](const auto& one) {
    return fits(one, room, vocab_size);
  });
  if (!usable) {
    if (!begun.empty()) {
      base::log_warning("group " + std::to_string(lease_.group.value()) +
                        " begins again: its tokens do not fit the prompt or the limits of now");
    }
    return {request(0, lease_.n_samples)};
  }
  std::vector<GenerateRequest> requests;
  std::int64_t follows = -1;  // the index that would go on the last request
  for (auto& one : begun) {
    const auto index = one.index_in_group;
    if (one.status != sample::SampleStatus::aborted) {
      adopt(std::move(one));
      continue;
    }
    if (index != follows) {
      requests.push_back(request(index, 0));
      requests.back().n_samples = 0;
    }
    ++requests.back().n_samples;
    requests.back().begun.push_back(generated_of(std::move(one)));
    follows = index + 1;
  }
  return requests;
}

bool LeaseWork::owns(base::SampleId id) const {
  const auto index = id.value() - lease_.first_sample.value();
  return index >= 0 && index < lease_.n_samples;
}

sample::Sample LeaseWork::sample_at(std::int64_t index) const {
  sample::Sample sample;
  sample.id = base::SampleId(lease_.first_sample.value() + index);
  sample.group = lease_.group;
  sample.prompt = lease_.prompt.id;
  sample.lease = lease_.id;
  sample.index_in_group = index;
  sample.prompt_tokens = prompt_tokens();
  sample.tokens = prompt_;
  sample.label = lease_.prompt.label;
  sample.lease_history = lease_.history;
  sample.lease_history.push_back(lease_.id);
  return sample;
}

void LeaseWork::store(sample::Sample sample) {
  auto& place = samples_[static_cast<std::size_t>(sample.index_in_group)];
  base::expects(!place.id.valid(), "an answer comes once");
  place = std::move(sample);
  --missing_;
}

sample::Sample LeaseWork::sample_of(Generated answer) const {
  auto sample = sample_at(answer.id.value() - lease_.first_sample.value());
  sample.status = status_of(answer.ending);
  if (answer.ending == Ending::failed) fail(sample, "the logits are not finite");
  sample.tokens.insert(sample.tokens.end(), answer.response.begin(), answer.response.end());
  sample.mask.assign(answer.response.size(), 1);
  sample.log_probs = std::move(answer.log_probs);
  sample.nuclei = std::move(answer.nuclei);
  sample.top_log_probs = std::move(answer.top_log_probs);
  sample.versions = std::move(answer.versions);
  sample.generation_s = answer.seconds;
  return sample;
}

void LeaseWork::stop(std::vector<Generated> unfinished) {
  for (auto& answer : unfinished) store(sample_of(std::move(answer)));
  for (auto& one : std::exchange(lease_.begun, {})) adopt(std::move(one));
  for (std::int64_t i = 0; i < lease_.n_samples; ++i) {
    if (is_stored(i)) continue;
    auto sample = sample_at(i);
    sample.status = sample::SampleStatus::aborted;
    store(std::move(sample));
  }
}

void LeaseWork::add(Generated answer, const text::Tokenizer& tokenizer,
                    const environment::EnvironmentRegistry& environments) {
  auto text = tokenizer.decode(text_tokens(answer));
  auto sample = sample_of(std::move(answer));
  sample.response = std::move(text);
  if (!sample.removed) {
    auto verdict = environments.verify(lease_.prompt, sample.response);
    sample.reward = verdict.reward;
    sample.evidence = std::move(verdict.evidence);
    verify_s_ += sample.evidence.seconds;
  }
  store(std::move(sample));
}

void LeaseWork::add_lesson(const environment::PromptEncoder& encoder,
                           const text::Tokenizer& tokenizer, base::TokenId end) {
  auto lesson = encoder.encode_lesson(lease_.prompt, end);
  const auto room =
      std::max<std::int64_t>(0, lease_.sampling.max_context_tokens - lesson.prompt_tokens);
  const bool fits = std::ssize(lesson.mask) <= room;
  if (!fits) lesson.mask.resize(static_cast<std::size_t>(room));
  if (std::find(lesson.mask.begin(), lesson.mask.end(), 1) == lesson.mask.end())
    return give_up(sample::SampleStatus::failed, "the context has no room for the answer");
  lesson.tokens.resize(static_cast<std::size_t>(lesson.prompt_tokens) + lesson.mask.size());
  const auto answer =
      std::span(lesson.tokens).subspan(static_cast<std::size_t>(lesson.prompt_tokens));
  for (std::int64_t i = 0; i < lease_.n_samples; ++i) {
    auto sample = sample_at(i);
    sample.status = fits ? sample::SampleStatus::completed : sample::SampleStatus::truncated;
    sample.response = tokenizer.decode(answer);
    sample.tokens = lesson.tokens;
    sample.prompt_tokens = lesson.prompt_tokens;
    sample.mask = lesson.mask;
    sample.versions.push_back({lease_.version, std::ssize(lesson.mask)});
    store(std::move(sample));
  }
}

/// A failed sample's evidence is the engine's word.
void LeaseWork::fail(sample::Sample& sample, std::string_view why) {
  sample.status = sample::SampleStatus::failed;
  sample.removed = true;
  sample.evidence.verifier = "engine";
  sample.evidence.verdict = "{\"failed\": " + base::json_string(why) + "}";
}

void LeaseWork::give_up(sample::SampleStatus status, std::string_view why) {
  for (std::int64_t i = 0; i < lease_.n_samples; ++i) {
    auto sample = sample_at(i);
    sample.status = status;
    if (status == sample::SampleStatus::failed) fail(sample, why);
    store(std::move(sample));
  }
}

sample::SampleGroup LeaseWork::take_group() {
  base::expects(complete(), "a group is handed in whole");
  return {.id = lease_.group,
          .prompt = lease_.prompt.id,
          .purpose = lease_.purpose,
          .lease = lease_.id,
          .samples = std::move(samples_)};
}

}  // namespace physarum::rollout
