#include "group_ledger.hpp"

#include <algorithm>
#include <iterator>

#include "physarum/base/contracts.hpp"

namespace physarum::buffer {

namespace {
WeightVersion oldest_of(const std::vector<sample::SampleSummary>& samples) {
  WeightVersion oldest;
  for (const auto& summary : samples) {
    if (!summary.oldest.valid()) continue;
    if (!oldest.valid() || summary.oldest < oldest) oldest = summary.oldest;
  }
  return oldest;
}
}  // namespace

GroupLedger::GroupLedger(GroupRange range, std::int64_t capacity)
    : range_(range),
      capacity_(capacity),
      fresh_(range.first_step * range.per_step),
      step_(range.first_step),
      draw_(range.per_step, range.per_draw) {
  base::expects(range.per_step > 0 && capacity >= range.per_step && capacity >= range.per_draw,
                "the buffer holds at least one rollout batch and one draw");
}

bool GroupLedger::is_open(const VersionPolicy& policy, WeightVersion published) const {
  return step_ < range_.end_step && policy.opens(step_, published);
}

std::int64_t GroupLedger::places() const { return draw_.wanted() - stored_ - lent_; }

std::vector<GroupId> GroupLedger::due_groups(const VersionPolicy& policy) const {
  std::vector<GroupId> due;
  for (const auto id : waiting_) {
    const auto& group = groups_.at(id);
    if (policy.is_due(step_, group.oldest, group.resumes)) due.push_back(id);
  }
  return due;
}

/// What a step waits for is lent even if the draw has no place for it: more groups may have come
/// back than one draw takes.
std::optional<GroupId> GroupLedger::next_drawn(const VersionPolicy& policy,
                                               WeightVersion published) const {
  if (!is_open(policy, published)) return {};
  if (const auto due = due_groups(policy); !due.empty()) return due.front();
  if (places() <= 0) return {};
  return waiting_.empty() ? GroupId(fresh_) : *waiting_.begin();
}

/// Groups that came back are older than fresh ones, so they go first: the batch that is due next
/// is never kept waiting by later ones.
std::optional<GroupId> GroupLedger::next(const VersionPolicy& policy,
                                         WeightVersion published) const {
  if (room() <= 0) return {};
  if (over_samples()) return next_drawn(policy, published);
  if (!waiting_.empty()) return *waiting_.begin();
  const GroupId group(fresh_);
  if (fresh_ >= end_group() || !policy.opens(step_of(group), published)) return {};
  return group;
}

bool GroupLedger::may_lend(GroupId group, const VersionPolicy& policy,
                           WeightVersion published) const {
  if (room() <= 0 || !waiting_.contains(group)) return false;
  if (!over_samples()) return true;
  const auto due = due_groups(policy);
  const bool wanted = due.empty() ? places() > 0 : std::ranges::binary_search(due, group);
  return wanted && is_open(policy, published);
}

std::int64_t GroupLedger::available(const VersionPolicy& policy, WeightVersion published) const {
  if (over_samples()) {
    const auto most = std::max(places(), std::ssize(due_groups(policy)));
    return is_open(policy, published)
               ? std::clamp<std::int64_t>(most, 0, std::max<std::int64_t>(room(), 0))
               : 0;
  }
  std::int64_t open_end = fresh_;
  // Steps open one after another, and only a few beyond the first fresh one.
  for (std::int64_t step = fresh_ / range_.per_step;
       step < range_.end_step && open_end - fresh_ < room() && policy.opens(step, published);
       ++step)
    open_end = (step + 1) * range_.per_step;
  const auto waiting = static_cast<std::int64_t>(waiting_.size());
  return std::clamp<std::int64_t>(waiting + open_end - fresh_, 0,
                                  std::max<std::int64_t>(room(), 0));
}

void GroupLedger::lend(GroupId group, LeaseId lease) {
  if (group.value() == fresh_) {
    ++fresh_;
  } else {
    base::expects(waiting_.erase(group) == 1, "only a group that waits is lent");
  }
  auto& record = groups_[group];
  record.waiting = false;
  ++record.attempts;
  if (record.oldest.valid()) ++record.resumes;
  record.history.push_back(lease);
  ++lent_;
}

void GroupLedger::hand_back(GroupId group, WeightVersion oldest) {
  auto& record = groups_.at(group);
  if (!record.waiting) give_back(group);
  record.oldest = oldest;
  record.attempts = 0;  // it did come back
}

void GroupLedger::forget_tokens(GroupId group) {
  auto& record = groups_.at(group);
  record.oldest = {};
  record.resumes = 0;
}

void GroupLedger::give_back(GroupId group) {
  auto& record = groups_.at(group);
  base::expects(!record.waiting && record.samples.empty(), "only a lent group is given back");
  record.waiting = true;
  waiting_.insert(group);
  --lent_;
}

GroupLedger::Stored GroupLedger::store(GroupId group, std::vector<sample::SampleSummary> samples) {
  const auto found = groups_.find(group);
  if (discarded_.contains(group.value())) return Stored::discarded;
  if (found == groups_.end() || !found->second.samples.empty() || samples.empty())
    return Stored::unexpected;
  auto& record = found->second;
  // A late delivery may come while the group waits to be lent again.
  if (record.waiting) {
    waiting_.erase(group);
    record.waiting = false;
  } else {
    --lent_;
  }
  record.oldest = oldest_of(samples);
  record.samples = std::move(samples);
  record.arrival = ++arrivals_;
  ++stored_;
  return Stored::yes;
}

void GroupLedger::discard(GroupId group) {
  const auto found = groups_.find(group);
  base::expects(found != groups_.end(), "only a group that was lent is discarded");
  if (found->second.waiting) {
    waiting_.erase(group);
  } else if (lent(found->second)) {
    --lent_;
  } else {
    --stored_;
  }
  groups_.erase(found);
  discarded_.insert(group.value());
}

void GroupLedger::filter_out(GroupId group) {
  base::expects(!groups_.at(group).samples.empty(), "only a stored group is filtered out");
  discard(group);
  draw_.reject();
}

void GroupLedger::reject(GroupId group) {
  auto& record = groups_.at(group);
  base::expects(!record.samples.empty(), "only a stored group is rejected");
  record.samples.clear();
  record.oldest = {};
  record.resumes = 0;
  record.attempts = 0;  // it did come back; being too old is nobody's failure
  record.waiting = true;
  waiting_.insert(group);
  --stored_;
}

std::vector<sample::SampleSummary> GroupLedger::take(std::span<const GroupId> groups) {
  std::vector<sample::SampleSummary> samples;
  for (const auto group : groups) {
    const auto found = groups_.find(group);
    base::expects(found != groups_.end() && !found->second.samples.empty(),
                  "only a stored group is taken");
    std::ranges::move(found->second.samples, std::back_inserter(samples));
    groups_.erase(found);
    --stored_;
  }
  std::ranges::sort(samples, {}, &sample::SampleSummary::id);
  if (over_samples()) {
    ++step_;
    draw_.begin_step();
  }
  return samples;
}

std::vector<GroupId> GroupLedger::lent_groups() const {
  std::vector<GroupId> groups;
  for (const auto& [id, group] : groups_)
    if (lent(group)) groups.push_back(id);
  return groups;
}

std::vector<GroupId> GroupLedger::stored_groups() const {
  std::vector<GroupId> groups;
  for (const auto& [id, group] : groups_)
    if (!group.samples.empty()) groups.push_back(id);
  return groups;
}

std::vector<OpenGroup> GroupLedger::open_groups() const {
  std::vector<OpenGroup> open;
  for (const auto& [id, group] : groups_) {
    const auto state = !group.samples.empty() ? OpenGroup::State::stored
                       : group.waiting        ? OpenGroup::State::waiting
                                              : OpenGroup::State::lent;
    open.push_back({id, state, group.history, group.resumes});
  }
  return open;
}

void GroupLedger::restore(const BufferState& state, const std::function<int(GroupId)>& owner_of) {
  base::expects(groups_.empty(), "only a new ledger goes on from a checkpoint");
  fresh_ = std::max(fresh_, state.fresh_group);
  for (const auto& open : state.open) {
    auto& group = groups_[open.group];
    group.history = open.history;
    group.resumes = open.resumes;
    if (open.state == OpenGroup::State::stored) continue;
    group.waiting = true;
    waiting_.insert(open.group);
  }
  for (const auto& unfinished : state.unfinished)
    groups_.at(unfinished.id).oldest = unfinished.oldest_version();
  for (const auto& stored : state.groups) {
    auto& group = groups_[stored.id];
    for (const auto& one : stored.samples)
      group.samples.push_back(summarise(one, owner_of(stored.id)));
    group.oldest = oldest_of(group.samples);
    ++stored_;
  }
}

const GroupLedger::Group* GroupLedger::find(GroupId group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? nullptr : &found->second;
}

bool GroupLedger::complete_below(GroupId end) const {
  if (fresh_ < std::min(end.value(), end_group())) return false;
  return std::ranges::all_of(groups_.begin(), groups_.lower_bound(end),
                             [](const auto& entry) { return !entry.second.samples.empty(); });
}

}  // namespace physarum::buffer
