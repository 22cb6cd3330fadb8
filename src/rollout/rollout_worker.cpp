#include "physarum/rollout/rollout_worker.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"

#include "rollout_worker_impl.hpp"

namespace physarum::rollout {

namespace {
RolloutOptions checked(const RolloutOptions& options, const model::ModelConfig& model) {
  options.validate();
  options.validate(model);
  base::expects(!options.mem_fraction_static, "the cache's size is known when a worker begins");
  return options;
}

EngineLimits limits_of(const RolloutOptions& options, const model::ModelConfig& model) {
  return {.context_tokens = options.context_tokens(model),
          .sequences = options.concurrency,
          .prefill_tokens = options.prefill_tokens,
          .kv_cache_bytes = options.cache_bytes(model, {}),
          .threads = static_cast<int>(options.threads),
          .prefix_reuse = options.disable_radix_cache ? PrefixReuse::off : PrefixReuse::on};
}
}  // namespace

RolloutWorker::Impl::Impl(const RolloutPartners& partners, const RolloutOptions& options)
    : partners_(partners),
      options_(checked(options, partners.model)),
      tokenizer_(partners.tokenizer),
      prompts_(partners.prompts),
      engine_(partners.model, limits_of(options_, partners.model),
              static_cast<std::uint64_t>(options_.seed.value_or(partners.seed)), tokenizer_),
      follower_(partners.puller, partners.catalogue) {}

bool RolloutWorker::Impl::advance() {
  if (finished()) return false;
  if (gave_up_) return partners_.work.poll(0, engine_.version());
  bool busy = poll();
  if (finished()) {
    engine_.clear();
    waiting_.clear();
    in_flight_.clear();
    return true;
  }
  busy = follow_weights() || busy;
  busy = start_waiting() || busy;
  busy = step() || busy;
  hand_in_complete();
  return busy;
}

exchange::EngineCounters RolloutWorker::Impl::counters() const {
  const auto us = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e6); };
  const auto& engine = engine_.statistics();
  const auto& pulls = follower_.figures();
  exchange::EngineCounters counters;
  counters.preemptions = engine.preemptions;
  counters.narrowed_nuclei = engine.narrowed_nuclei;
  counters.pulls = pulls.pulls;
  counters.pull_bytes = pulls.wire_bytes;
  counters.pull_retries = pulls.retries;
  counters.pull_failures = pulls.failures;
  counters.pull_get_us = us(pulls.get_s);
  counters.pull_apply_us = us(pulls.apply_s);
  counters.pull_verify_us = us(pulls.pull_s - pulls.get_s - pulls.apply_s);
  counters.swaps = engine.weight_swaps;
  counters.swap_us = us(engine.swap_s);
  return counters;
}

bool RolloutWorker::Impl::poll() {
  std::int64_t room = engine_.free_sequences();
  for (const auto& work : waiting_) room -= work.lease().n_samples;
  const bool busy =
      partners_.work.poll(std::max<std::int64_t>(room, 0), engine_.version(), counters());
  for (auto& lease : partners_.work.take_leases()) {
    waiting_.emplace_back(std::move(lease), prompts_);
  }
  stop_recalled();
  return busy;
}

void RolloutWorker::Impl::stop_recalled() {
  for (const auto& recall : partners_.work.take_recalls()) {
    stop(recall, waiting_);
    stop(recall, in_flight_);
  }
}

/// What is complete is handed in as ever, in this turn.
void RolloutWorker::Impl::stop(const exchange::Recall& recall, std::deque<LeaseWork>& works) {
  const auto work = std::ranges::find_if(
      works, [&](const LeaseWork& one) { return one.lease().id == recall.lease; });
  if (work == works.end()) return;
  auto unfinished = engine_.give_up(work->lease().first_sample, work->lease().n_samples);
  if (recall.form == exchange::RecallForm::hand_back) {
    if (work->complete()) return;
    work->stop(std::move(unfinished));
    partners_.work.hand_back(work->take_group());
    ++handed_back_groups_;
  }
  works.erase(work);
}

bool RolloutWorker::Impl::start_waiting() {
  bool started = false;
  for (auto work = waiting_.begin(); work != waiting_.end();) {
    const auto fit = fit_of(*work);
    if (fit == Fit::later) {
      ++work;
      continue;
    }
    if (fit == Fit::now) {
      start(std::move(*work));
    } else {
      // The buffer lends the group again, by the rule of then.
      work->give_up(sample::SampleStatus::aborted);
      hand_in(*work);
    }
    work = waiting_.erase(work);
    started = true;
  }
  return started;
}

void RolloutWorker::Impl::start(LeaseWork work) {
  const auto& lease = work.lease();
  if (!work.generates()) {
    const auto& ends = partners_.model.eos_token_ids;
    base::expects(tokenizer_.eos() || !ends.empty(), "supervised answers need an end token");
    work.add_lesson(prompts_, tokenizer_, tokenizer_.eos() ? *tokenizer_.eos() : ends.front());
  } else if (work.prompt_tokens() == 0) {
    fail_prompt(work, "it has no tokens");
  } else if (work.prompt_tokens() > options_.prompt_tokens(partners_.model) ||
             engine_.response_room(work.prompt_tokens(), lease.sampling) < 1) {
    fail_prompt(work, "it is longer than --rollout-max-prompt-len or the context allows");
  } else if (!work.fits_vocabulary(partners_.model.vocab_size)) {
    fail_prompt(work, "it or its stop tokens have ids beyond the model's vocabulary");
  } else {
    if (!since_first_request_) since_first_request_.emplace();
    const auto room = engine_.response_room(work.prompt_tokens(), lease.sampling);
    for (auto& request : work.take_over(room, partners_.model.vocab_size))
      engine_.add(std::move(request));
  }
  in_flight_.push_back(std::move(work));
}

void RolloutWorker::Impl::fail_prompt(LeaseWork& work, std::string_view why) {
  const auto what = "the prompt of " + std::to_string(work.prompt_tokens()) +
                    " tokens is not answered: " + std::string(why);
  base::log_warning("prompt " + std::to_string(work.lease().prompt.id.value()) + ": " + what);
  work.give_up(sample::SampleStatus::failed, what);
}

bool RolloutWorker::Impl::step() {
  // Aborted answers wait in an engine that has nothing else to do.
  const bool answers_wait = std::any_of(in_flight_.begin(), in_flight_.end(),
                                        [](const auto& work) { return !work.complete(); });
  if (!answers_wait) return false;
  std::vector<base::SampleId> aborted;
  const base::Stopwatch watch;
  auto answers = engine_.step();
  step_s_ = watch.seconds();
  for (auto& answer : answers) {
    if (answer.ending == Ending::aborted) {
      aborted.push_back(answer.id);
    } else {
      take_answer(std::move(answer));
    }
  }
  start_again(std::move(aborted));
  warn_of_narrowed_nuclei();
  return true;
}

void RolloutWorker::Impl::warn_of_narrowed_nuclei() {
  if (warned_of_narrowed_nuclei_ || engine_.statistics().narrowed_nuclei == 0) return;
  warned_of_narrowed_nuclei_ = true;
  base::log_warning("top-p, top-k and min-p left more than " +
                    std::to_string(options_.nucleus_limit) +
                    " tokens: the likeliest of them are drawn from (--rollout-nucleus-limit; "
                    "rollout/narrowed_nuclei counts it)");
}

LeaseWork& RolloutWorker::Impl::work_of(base::SampleId id) {
  const auto work = std::find_if(in_flight_.begin(), in_flight_.end(),
                                 [id](const auto& candidate) { return candidate.owns(id); });
  base::ensures(work != in_flight_.end(), "an answer belongs to a lease in flight");
  return *work;
}

void RolloutWorker::Impl::take_answer(Generated answer) {
  count_failures(answer);
  ++answers_;
  answering_s_ = since_first_request_->seconds();
  auto& work = work_of(answer.id);
  work.add(std::move(answer), tokenizer_, partners_.environments);
}

void RolloutWorker::Impl::count_failures(const Generated& answer) {
  if (answer.ending != Ending::failed) {
    failures_in_a_row_ = 0;
    return;
  }
  const auto what = "the logits of weight version " + std::to_string(engine_.version().value()) +
                    " are not finite";
  // One that is the first of many says it for all.
  if (failures_in_a_row_ == 0) {
    base::log_warning(what + ": sample " + std::to_string(answer.id.value()) + " failed");
  }
  if (++failures_in_a_row_ < most_failures_in_a_row || gave_up_) return;
  partners_.work.raise_alarm(
      what + ": " + std::to_string(failures_in_a_row_) +
      " samples in a row failed; go on from an earlier checkpoint with a lower --lr");
  gave_up_ = true;
}

/// Neighbours of a group share the reading of their prompt again.
void RolloutWorker::Impl::start_again(std::vector<base::SampleId> aborted) {
  std::sort(aborted.begin(), aborted.end());
  for (std::size_t first = 0; first < aborted.size();) {
    const auto& work = work_of(aborted[first]);
    std::size_t end = first + 1;
    while (end < aborted.size() && work.owns(aborted[end]) &&
           aborted[end].value() == aborted[end - 1].value() + 1) {
      ++end;
    }
    engine_.add(work.request(aborted[first].value() - work.lease().first_sample.value(),
                             static_cast<std::int64_t>(end - first)));
    first = end;
  }
}

void RolloutWorker::Impl::hand_in_complete() {
  std::erase_if(in_flight_, [this](LeaseWork& work) {
    if (!work.complete()) return false;
    hand_in(work);
    return true;
  });
}

void RolloutWorker::Impl::hand_in(LeaseWork& work) {
  const auto group = work.take_group();
  failed_samples_ += std::count_if(group.samples.begin(), group.samples.end(), [](const auto& s) {
    return s.status == sample::SampleStatus::failed;
  });
  verify_s_ += work.verify_s();
  ++groups_;
  partners_.work.hand_in(group);
}

base::Scalars RolloutWorker::Impl::statistics() const {
  const auto& engine = engine_.statistics();
  const auto& pulls = follower_.figures();
  const auto counted = counters();
  const double age = std::max(age_.seconds(), 1e-9);
  const double generated = static_cast<double>(engine.generated_tokens);
  return {{"rollout/groups", static_cast<double>(groups_)},
          {"rollout/prompt_tokens_reused", static_cast<double>(engine.reused_tokens)},
          {"rollout/handed_back_groups", static_cast<double>(handed_back_groups_)},
          {"rollout/generated_tokens", generated},
          {"rollout/answers", static_cast<double>(answers_)},
          {"rollout/answering_s", answering_s_},
          {"rollout/prompt_tokens_read", static_cast<double>(engine.prompt_tokens)},
          {"rollout/engine_steps", static_cast<double>(engine.steps)},
          {"rollout/tokens_per_s", generated / age},
          {"rollout/tokens_per_busy_s", generated / std::max(engine.busy_s, 1e-9)},
          {"rollout/busy_share", engine.busy_s / age},
          {"rollout/verify_s", verify_s_},
          {"rollout/failed_samples", static_cast<double>(failed_samples_)},
          {"rollout/most_running", static_cast<double>(engine.most_running)},
          {"rollout/preemptions", static_cast<double>(counted.preemptions)},
          {"rollout/nuclei", static_cast<double>(engine.nuclei)},
          {"rollout/nucleus_ids", static_cast<double>(engine.nucleus_ids)},
          {"rollout/narrowed_nuclei", static_cast<double>(counted.narrowed_nuclei)},
          {"rollout/weight_swaps", static_cast<double>(counted.swaps)},
          {"rollout/swap_s", engine.swap_s},
          {"rollout/pulls", static_cast<double>(counted.pulls)},
          {"rollout/pulled_deltas", static_cast<double>(pulls.deltas)},
          {"rollout/pull_bytes", static_cast<double>(counted.pull_bytes)},
          {"rollout/pull_retries", static_cast<double>(counted.pull_retries)},
          {"rollout/pull_s", pulls.pull_s}};
}

RolloutWorker::RolloutWorker(const RolloutPartners& partners, const RolloutOptions& options)
    : impl_(std::make_unique<Impl>(partners, options)) {}
RolloutWorker::~RolloutWorker() = default;
RolloutWorker::RolloutWorker(RolloutWorker&&) noexcept = default;
RolloutWorker& RolloutWorker::operator=(RolloutWorker&&) noexcept = default;

bool RolloutWorker::advance() { return impl_->advance(); }
bool RolloutWorker::finished() const { return impl_->finished(); }
exchange::EngineCounters RolloutWorker::counters() const { return impl_->counters(); }
base::Scalars RolloutWorker::statistics() const { return impl_->statistics(); }

}  // namespace physarum::rollout
