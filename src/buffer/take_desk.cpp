#include "take_desk.hpp"

#include <algorithm>
#include <utility>

#include "physarum/base/contracts.hpp"

#include "physarum/sample/micro_batches.hpp"

#include "batch_selection.hpp"
#include "statistics.hpp"

namespace physarum::buffer {

TakeDesk::TakeDesk(ServerContext& context, Schedule& schedule, WorkDesk& work, RetireDesk& retired)
    : context_(context),
      schedule_(schedule),
      work_(work),
      retired_(retired),
      step_(context.settings.first_step) {}

void TakeDesk::ask(WorldRank trainer, std::int64_t step) {
  if (step < step_ || step >= context_.settings.num_rollout || asking_.contains(trainer))
    throw base::MalformedBytes("a trainer asks for a batch that cannot come");
  asking_[trainer] = step;
  context_.attendance.waits({trainer, Party::trainer});
}

void TakeDesk::fetched(WorldRank trainer, std::int64_t step) {
  if (!plan_ || step != step_) throw base::MalformedBytes("no such batch is under way");
  fetched_.insert(trainer);
}

void TakeDesk::send_errand(exchange::Errand errand) {
  if (stopping_ || !has_trainers()) return;
  // To stop is also to save.
  if (!errand_ || errand == exchange::Errand::save_and_stop) errand_ = errand;
}

bool TakeDesk::takes_ahead() const {
  return context_.settings.options.takes_before_publishing() &&
         step_ > context_.settings.first_step;
}

/// Only when all trainers ask: then none of them has this batch.
bool TakeDesk::hand_out_errand() {
  if (!errand_ || plan_ || takes_ahead() || step_ >= context_.settings.num_rollout) return false;
  const auto waiting = std::ranges::count_if(
      asking_, [this](const auto& question) { return question.second == step_; });
  if (waiting < std::ssize(context_.settings.peers.trainers)) return false;
  for (const auto& [trainer, step] : asking_) {
    exchange::send(context_.transport, trainer,
                   exchange::ErrandOrder{step, *errand_, exchange::ErrandForm::instead_of_batch});
    context_.attendance.answered({trainer, Party::trainer}, context_.clock.served_s());
  }
  asking_.clear();
  stopping_ = *errand_ == exchange::Errand::save_and_stop;
  errand_.reset();
  return true;
}

bool TakeDesk::advance() {
  const bool told = hand_out_errand();
  const bool assembled = assemble();
  const bool handed_out = hand_out() || told;
  return finish_batch() || handed_out || assembled;
}

/// Only the first trainer's question counts: what it has published has come before it, so a version
/// that is due for evaluation is known by now.
bool TakeDesk::wanted() const {
  if (plan_ || step_ >= context_.settings.num_rollout || !retired_.idle()) return false;
  // An errand comes first, unless it goes with the batch.
  if (paused_ || stopping_ || (errand_ && !takes_ahead())) return false;
  if (schedule_.evaluation() != nullptr) return false;
  if (!has_trainers()) return true;
  const auto first = asking_.find(context_.settings.peers.trainers.front());
  return first != asking_.end() && first->second == step_;
}

bool TakeDesk::assemble() {
  const auto& training = schedule_.training();
  if (!wanted() || training.stored() < training.groups_per_step()) return false;
  auto selection = select_batch(training, schedule_.policy(), step_);
  retry(selection.stale);
  if (selection.groups.empty()) return !selection.stale.empty();
  const auto& options = context_.settings.options;
  sample::BatchPlan plan;
  plan.step = step_;
  plan.samples = schedule_.training().take(selection.groups);
  report(plan.samples);
  mask_older(plan.samples);
  plan.micro_batches =
      sample::plan_micro_batches(plan.samples, context_.settings.peers.dp_size,
                                 options.steps_per_rollout(), options.micro_batch_rule());
  plan_ = std::move(plan);
  plan_errand_ = std::exchange(errand_, {});
  stopping_ = plan_errand_ == exchange::Errand::save_and_stop;
  groups_ = std::move(selection.groups);
  fetched_.clear();
  end_rollout();
  return true;
}

/// What the owners do to the samples themselves.
void TakeDesk::mask_older(std::vector<sample::SampleSummary>& samples) const {
  const auto own = own_version(step_, context_.settings);
  if (!own.valid()) return;
  for (auto& sample : samples) mask_older_than(sample, own);
}

/// If steps over-sample, engines still work for this one.
void TakeDesk::end_rollout() {
  if (schedule_.policy().form != BatchForm::first_accepted) return;
  schedule_.forget_drops();
  work_.end_step(context_.settings.options.partial_rollout ? exchange::RecallForm::hand_back
                                                           : exchange::RecallForm::drop);
}

void TakeDesk::retry(const std::vector<GroupId>& stale) {
  for (const auto group : stale) {
    ++context_.counters.stale_groups;
    schedule_.training().reject(group);
    exchange::send(context_.transport, schedule_.owner_of(group),
                   exchange::Release{exchange::ReleaseReason::again, {group}});
  }
}

void TakeDesk::report(const std::vector<sample::SampleSummary>& samples) {
  if (!context_.reports.batch_taken) return;
  auto metrics = rollout_metrics(samples);
  metrics.merge(staleness_metrics(samples, step_));
  if (!has_trainers()) metrics.merge(pass_rates("rollout/pass@", samples));
  const auto& counters = context_.counters;
  metrics["rollout/fully_async/queue_size"] = static_cast<double>(schedule_.training().stored());
  metrics["rollout/fully_async/stale_groups_filtered"] = static_cast<double>(counters.stale_groups);
  metrics["rollout/fully_async/aborted_groups_filtered"] =
      static_cast<double>(counters.aborted_groups);
  const auto counted = work_.engine_counters();
  metrics.merge(engine_metrics(counted, std::exchange(counted_before_, counted)));
  metrics["perf/pull_weights_versions_behind"] = static_cast<double>(work_.most_versions_behind());
  if (schedule_.policy().form == BatchForm::first_accepted) report_over_sampling(samples, metrics);
  const double seconds = context_.clock.now_s() - work_.first_lease_s(step_);
  double tokens = 0;
  for (const auto& sample : samples) tokens += static_cast<double>(sample.response_tokens);
  const auto engines = static_cast<double>(context_.settings.peers.engines.size());
  metrics["perf/rollout_time"] = seconds;
  if (seconds > 0 && engines > 0)
    metrics["perf/tokens_per_gpu_per_sec"] = tokens / seconds / engines;
  context_.reports.batch_taken(step_, metrics);
}

void TakeDesk::report_over_sampling(const std::vector<sample::SampleSummary>& samples,
                                    base::Scalars& metrics) const {
  const auto& counters = context_.counters;
  const std::string prefix = "rollout/over_sampling/";
  const auto count = [&](const char* name, std::int64_t value) {
    metrics[prefix + name] = static_cast<double>(value);
  };
  count("aborted_groups", counters.recalled_groups);
  count("resumed_groups", counters.resumed_groups);
  count("discarded_groups", counters.discarded_groups);
  count("filtered_groups", counters.filtered_groups);
  count("reused_tokens", counters.reused_tokens);
  if (has_trainers())
    metrics[prefix + "offpolicy_token_ratio"] = offpolicy_token_ratio(samples, step_);
  for (const auto& [reason, groups] : schedule_.drops())
    metrics["rollout/dynamic_filter/drop_" + reason] = static_cast<double>(groups);
}

bool TakeDesk::hand_out() {
  if (!plan_) return false;
  const auto answered = std::erase_if(asking_, [this](const auto& question) {
    if (question.second != step_) return false;
    if (plan_errand_) {
      exchange::send(
          context_.transport, question.first,
          exchange::ErrandOrder{step_, *plan_errand_, exchange::ErrandForm::before_batch});
    }
    exchange::send(context_.transport, question.first, exchange::TakeReply{*plan_});
    context_.attendance.answered({question.first, Party::trainer}, context_.clock.served_s());
    return true;
  });
  return answered > 0;
}

bool TakeDesk::finish_batch() {
  if (!plan_ || fetched_.size() < context_.settings.peers.trainers.size()) return false;
  retired_.retire(step_, context_.settings.purpose, "samples_" + std::to_string(step_) + ".h5",
                  std::move(groups_));
  plan_.reset();
  ++step_;
  return true;
}

std::string TakeDesk::describe() const {
  const auto& training = schedule_.training();
  if (plan_) {
    return "batch " + std::to_string(step_) + " fetched by " + std::to_string(fetched_.size()) +
           " of " + std::to_string(context_.settings.peers.trainers.size()) + " trainers";
  }
  return "batch " + std::to_string(step_) + " waits, " + std::to_string(training.stored()) +
         " groups stored of " + std::to_string(training.groups_per_step());
}

}  // namespace physarum::buffer
