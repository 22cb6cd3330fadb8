#include "schedule.hpp"

#include <string>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/buffer/buffer_state.hpp"

#include "dynamic_filter.hpp"

namespace physarum::buffer {

WorldRank owner_of(GroupId group, const ServerSettings& settings) {
  const auto& buffers = settings.peers.buffers;
  const auto ranks = static_cast<std::int64_t>(buffers.size());
  const std::int64_t per_step = settings.options.rollout_batch_size;
  const std::int64_t block = is_evaluation(group) ? (group.value() - first_evaluation_id) % ranks
                                                  : group.value() % per_step * ranks / per_step;
  return buffers[static_cast<std::size_t>(block)];
}

Schedule::Schedule(const ServerSettings& settings)
    : settings_(settings),
      policy_(
          VersionPolicy::of(settings.options, settings.purpose, !settings.peers.trainers.empty())),
      ledger_({settings.options.rollout_batch_size, settings.first_step, settings.num_rollout,
               policy_.form == BatchForm::first_accepted ? settings.options.groups_per_draw() : 0},
              settings.options.capacity_groups()) {
  if (settings.prompts != nullptr) {
    order_.emplace(settings.prompts->size(),
                   settings.options.rollout_shuffle ? Shuffle::per_epoch : Shuffle::off,
                   static_cast<std::uint64_t>(settings.seed));
  }
  if (settings.resumed) {
    ledger_.restore(*settings.resumed, [this](GroupId group) { return owner_of(group).value(); });
    for (const auto& group : settings.resumed->unfinished) unfinished_.emplace(group.id, group);
  }
}

WorldRank Schedule::owner_of(GroupId group) const { return buffer::owner_of(group, settings_); }

bool Schedule::publish(WeightVersion version) {
  if (published_.valid() && version <= published_) return false;
  const bool first = !first_version_.valid();
  if (first) {
    first_version_ = version;
  } else {
    const std::int64_t step = version.value() + policy_.staleness;
    base::expects(policy_.rule != sample::VersionRule::exactly ||
                      ledger_.complete_below(GroupId(step * ledger_.groups_per_step())),
                  "a version is replaced only when all groups that need exactly it are there: take "
                  "the next batch before publishing");
  }
  published_ = version;
  if (first && settings_.resumed) {
    // What the interrupted run had not finished begins again.
    for (const auto open : settings_.resumed->evaluations) begin_evaluations(open);
  } else if (evaluation_due(version)) {
    begin_evaluations(version);
  }
  return true;
}

void Schedule::begin_evaluations(WeightVersion version) {
  if (!settings_.evaluations.empty()) evaluations_.emplace_back(settings_.evaluations, version);
}

std::vector<WeightVersion> Schedule::open_evaluations() const {
  std::vector<WeightVersion> versions;
  for (const auto& evaluation : evaluations_) versions.push_back(evaluation.version());
  return versions;
}

bool Schedule::evaluation_due(WeightVersion version) const {
  if (settings_.evaluations.empty()) return false;
  const auto& options = settings_.options;
  const bool only_evaluation = settings_.num_rollout <= settings_.first_step;
  if (version == first_version_) {
    return only_evaluation ||
           (version.value() == 0 && options.eval_interval && !options.skip_eval_before_train);
  }
  return options.eval_interval && version.value() % *options.eval_interval == 0;
}

std::optional<sample::Lease> Schedule::next() const {
  if (!published_.valid() && settings_.purpose != sample::Purpose::supervised) return {};
  if (const auto* evaluation = this->evaluation()) {
    if (const auto task = evaluation->next()) return evaluation_lease(*task);
  }
  if (const auto group = ledger_.next(policy_, published_)) return training_lease(*group);
  return {};
}

std::optional<sample::Lease> Schedule::lease_of(GroupId group) const {
  const auto* evaluation = this->evaluation();
  if (evaluation != nullptr && evaluation->next()) return {};
  if (!ledger_.may_lend(group, policy_, published_)) return {};
  return training_lease(group);
}

std::int64_t Schedule::available() const {
  if (!published_.valid() && settings_.purpose != sample::Purpose::supervised) return 0;
  const auto* current = evaluation();
  return (current == nullptr ? 0 : current->available()) + ledger_.available(policy_, published_);
}

sample::Lease Schedule::evaluation_lease(const Evaluation::Task& task) const {
  const auto& set = settings_.evaluations[task.set];
  sample::Lease lease;
  lease.group = task.group;
  lease.purpose = sample::Purpose::evaluate;
  lease.prompt = set.prompts->at(task.prompt);
  lease.n_samples = set.n_samples;
  lease.first_sample = task.first_sample;
  lease.version = evaluation()->version();
  // A trainer that runs ahead may have replaced the version; then a newer one must do.
  lease.rule =
      lease.version == published_ ? sample::VersionRule::exactly : sample::VersionRule::at_least;
  lease.sampling = set.sampling;
  lease.owner = owner_of(task.group).value();
  lease.history = task.history;
  return lease;
}

sample::Lease Schedule::training_lease(GroupId group) const {
  const auto* record = ledger_.find(group);
  sample::Lease lease;
  lease.group = group;
  lease.purpose = settings_.purpose;
  lease.prompt = settings_.prompts->at(order_->index(group.value()));
  lease.n_samples = settings_.options.n_samples_per_prompt;
  lease.first_sample = base::SampleId(group.value() * lease.n_samples);
  lease.rule = policy_.rule;
  lease.version = policy_.needs(ledger_.step_of(group), first_version_);
  // What is generated again should not come out too old again.
  if (record != nullptr && policy_.form == BatchForm::first_complete) lease.version = published_;
  lease.sampling = settings_.sampling;
  lease.owner = owner_of(group).value();
  if (record != nullptr) lease.history = record->history;
  return lease;
}

void Schedule::lend(GroupId group, LeaseId lease) {
  if (is_evaluation(group)) {
    evaluations_.front().lend(group, lease);
  } else {
    ledger_.lend(group, lease);
  }
}

void Schedule::give_back(GroupId group) {
  const auto* record = ledger_.find(group);
  std::int64_t attempts = record == nullptr ? 0 : record->attempts;
  if (is_evaluation(group)) attempts = evaluations_.front().attempts(group);
  if (attempts >= most_attempts) {
    throw base::WorldError("lease", attempts,
                           "group " + std::to_string(group.value()) + " was lent " +
                               std::to_string(attempts) +
                               " times and never came back; is --lease-deadline too short?");
  }
  if (is_evaluation(group)) {
    evaluations_.front().give_back(group);
  } else {
    ledger_.give_back(group);
  }
}

Schedule::Stored Schedule::store(GroupId group, std::vector<sample::SampleSummary> samples) {
  if (is_evaluation(group)) {
    const bool stored =
        !evaluations_.empty() && evaluations_.front().store(group, std::move(samples));
    return stored ? Stored::yes : Stored::unexpected;
  }
  if (static_cast<std::int64_t>(samples.size()) != settings_.options.n_samples_per_prompt)
    return Stored::unexpected;
  switch (ledger_.store(group, std::move(samples))) {
    case GroupLedger::Stored::unexpected:
      return Stored::unexpected;
    case GroupLedger::Stored::discarded:
      return Stored::discarded;
    case GroupLedger::Stored::yes:
      break;
  }
  unfinished_.erase(group);
  return filter_out(group, ledger_.find(group)->samples) ? Stored::filtered : Stored::yes;
}

bool Schedule::filter_out(GroupId group, std::span<const sample::SampleSummary> samples) {
  const auto filter = settings_.options.dynamic_sampling_filter;
  const auto reason = reason_to_drop(filter, samples);
  if (policy_.form != BatchForm::first_accepted || !reason) return false;
  if (has_fallback(filter) && ledger_.draw().next_rejection_draws()) return false;
  ledger_.filter_out(group);
  ++drops_[*reason];
  if (ledger_.draw().draws() <= most_draws) return true;
  throw base::WorldError(
      "dynamic filter", ledger_.draw().rejected(),
      "step " + std::to_string(ledger_.step_of(group)) + " has dropped " +
          std::to_string(ledger_.draw().rejected()) +
          " groups and is not full; ask other prompts, or take the filter with fallback");
}

bool Schedule::waits_since(GroupId group, LeaseId lease) const {
  const auto* record = ledger_.find(group);
  return record != nullptr && record->waiting && !record->history.empty() &&
         record->history.back() == lease;
}

bool Schedule::hand_back(sample::SampleGroup group) {
  const auto n_samples = settings_.options.n_samples_per_prompt;
  const bool as_lent =
      std::cmp_equal(group.samples.size(), n_samples) && group.purpose == settings_.purpose &&
      group.samples.front().id == base::SampleId(group.id.value() * n_samples) &&
      group.prompt.value() == settings_.prompts->at(order_->index(group.id.value())).id.value();
  if (!as_lent) return false;
  const auto oldest = group.oldest_version();
  ledger_.hand_back(group.id, oldest);
  if (oldest.valid()) {
    unfinished_.insert_or_assign(group.id, std::move(group));
  } else {
    unfinished_.erase(group.id);
  }
  return true;
}

std::vector<sample::Sample> Schedule::begun(GroupId group) {
  const auto found = unfinished_.find(group);
  if (found == unfinished_.end()) return {};
  if (!policy_.too_old(ledger_.step_of(group), found->second.oldest_version()))
    return found->second.samples;
  unfinished_.erase(found);
  ledger_.forget_tokens(group);
  return {};
}

void Schedule::discard(GroupId group) {
  ledger_.discard(group);
  unfinished_.erase(group);
}

}  // namespace physarum::buffer
