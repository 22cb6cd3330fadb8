#include "work_desk.hpp"

#include <algorithm>
#include <utility>

#include "physarum/base/logging.hpp"

#include "physarum/buffer/buffer_state.hpp"

#include "release.hpp"

namespace physarum::buffer {

using exchange::Arrival;
using exchange::DeliveryOutcome;
using exchange::RunState;

WorkDesk::WorkDesk(ServerContext& context, Schedule& schedule)
    : context_(context), schedule_(schedule) {
  if (context.settings.resumed) leases_.start_at(context.settings.resumed->next_lease);
}

void WorkDesk::ask(WorldRank engine, const exchange::WorkRequest& request) {
  counted_[engine] = request.counters;
  versions_[engine] = request.current;
  // It crossed an answer; the engine asks again when it has seen that one.
  if (request.replies_seen != replies_[engine]) return;
  parked_[engine] = {request, request.free_samples, {}};
  context_.attendance.waits({engine, Party::engine});
}

void WorkDesk::arrive(const Arrival& arrival) {
  const auto* record = leases_.find(arrival.group);
  const bool current = record != nullptr && record->id == arrival.lease;
  if (arrival.outcome == DeliveryOutcome::stored) {
    // Whoever was first: nobody else needs to answer this group any more.
    leases_.complete(arrival.group);
    return store(arrival);
  }
  if (arrival.outcome == DeliveryOutcome::repeated) {
    ++context_.counters.repeated_groups;
  } else if (current) {
    ++context_.counters.aborted_groups;
    give_back(*leases_.complete(arrival.group));
  }
}

void WorkDesk::store(const Arrival& arrival) {
  kept_.erase(arrival.group);
  switch (schedule_.store(arrival.group, arrival.samples)) {
    case Schedule::Stored::yes:
      if (context_.reports.group_answered) context_.reports.group_answered(arrival.samples);
      return;
    case Schedule::Stored::discarded:  // released when it was discarded
      return;
    case Schedule::Stored::filtered:
      ++context_.counters.filtered_groups;
      return release_for_good(context_, {arrival.group});
    case Schedule::Stored::unexpected:
      break;
  }
  ++context_.counters.malformed_messages;
  base::log_error("group " + std::to_string(arrival.group.value()) +
                  " was delivered but not asked for, or has a wrong size");
  exchange::send(context_.transport, schedule_.owner_of(arrival.group),
                 exchange::Release{exchange::ReleaseReason::again, {arrival.group}});
}

void WorkDesk::take_back(WorldRank engine, sample::SampleGroup group) {
  const auto* record = leases_.find(group.id);
  const bool current = record != nullptr && record->id == group.lease && record->engine == engine;
  // Late, but nobody has had it since: its tokens are as good as they were.
  const bool waits = record == nullptr && schedule_.waits_since(group.id, group.lease);
  if (!current && !waits) {
    // Too late: somebody else works on it by now, or has finished it.
    ++context_.counters.repeated_groups;
    return;
  }
  const auto id = group.id;
  if (is_evaluation(id) || !schedule_.hand_back(std::move(group)))
    throw base::MalformedBytes("a group was handed back that is not as it was lent");
  leases_.complete(id);
  kept_[id] = engine;
  ++context_.counters.recalled_groups;
}

void WorkDesk::end_step(exchange::RecallForm form) {
  std::vector<GroupId> discarded;
  for (const auto group : schedule_.training().lent_groups()) {
    if (const auto* record = leases_.find(group))
      recalls_[record->engine].push_back({record->id, form});
    if (form == exchange::RecallForm::hand_back) continue;  // its lease ends when it comes back
    leases_.complete(group);
    discarded.push_back(group);
  }
  if (form == exchange::RecallForm::drop) {
    const auto stored = schedule_.training().stored_groups();
    discarded.insert(discarded.end(), stored.begin(), stored.end());
  }
  for (const auto group : discarded) {
    schedule_.discard(group);
    kept_.erase(group);
  }
  context_.counters.discarded_groups += std::ssize(discarded);
  release_for_good(context_, std::move(discarded));
}

void WorkDesk::give_back(const LeaseRecord& record) { schedule_.give_back(record.group); }

void WorkDesk::drop(WorldRank engine) {
  parked_.erase(engine);
  recalls_.erase(engine);
  std::erase_if(kept_, [engine](const auto& kept) { return kept.second == engine; });
  for (const auto& record : leases_.drop_engine(engine)) {
    ++context_.counters.returned_leases;
    give_back(record);
  }
}

bool WorkDesk::advance() {
  if (state_ == RunState::over) return answer();
  const bool expired = expire();
  const bool granted = grant();
  return answer() || expired || granted;
}

bool WorkDesk::expire() {
  const auto expired = leases_.expire(context_.clock.served_s());
  for (const auto& record : expired) {
    ++context_.counters.expired_leases;
    base::log_warning("lease of group " + std::to_string(record.group.value()) + " by " +
                      buffer::describe({record.engine, Party::engine}) + " is over its deadline");
    give_back(record);
  }
  return !expired.empty();
}

/// What an engine may have in flight while others have not asked yet: its part of all that is or
/// could be in flight.
std::int64_t WorkDesk::share() const {
  const std::int64_t engines = std::max<std::int64_t>(1, context_.attendance.count(Party::engine));
  return (schedule_.available() + leases_.size() + engines - 1) / engines;
}

bool WorkDesk::grant() {
  if (parked_.empty()) return false;
  const std::int64_t part = share();
  bool granted = grant_kept();
  while (auto lease = schedule_.next()) {
    const auto chosen = choose(lease->n_samples, part);
    if (chosen == parked_.end()) break;
    lend(chosen->first, chosen->second, std::move(*lease));
    granted = true;
  }
  return granted;
}

bool WorkDesk::grant_kept() {
  bool granted = false;
  for (auto it = kept_.begin(); it != kept_.end();) {
    const auto [group, engine] = *it++;  // lending erases it
    const auto parked = parked_.find(engine);
    if (parked == parked_.end() ||
        parked->second.room < context_.settings.options.n_samples_per_prompt)
      continue;
    auto lease = schedule_.lease_of(group);
    if (!lease) continue;
    lend(engine, parked->second, std::move(*lease));
    granted = true;
  }
  return granted;
}

std::map<WorldRank, WorkDesk::Parked>::iterator WorkDesk::choose(std::int64_t n_samples,
                                                                 std::int64_t share) {
  const auto engines = static_cast<std::size_t>(context_.attendance.count(Party::engine));
  auto best = parked_.end();
  for (auto it = parked_.begin(); it != parked_.end(); ++it) {
    const std::int64_t busy = leases_.in_flight(it->first);
    // An idle engine gets work even if a group is larger than its room: it decodes it in turns.
    if (busy > 0 && it->second.room < n_samples) continue;
    if (busy >= share && parked_.size() < engines) continue;
    if (best == parked_.end() || busy < leases_.in_flight(best->first)) best = it;
  }
  return best;
}

void WorkDesk::lend(WorldRank engine, Parked& parked, sample::Lease lease) {
  lease.deadline_s = context_.settings.options.lease_deadline_s;
  lease.id = leases_.grant(lease.group, engine, context_.clock.served_s(), lease.deadline_s);
  if (!is_evaluation(lease.group)) {
    lease.begun = schedule_.begun(lease.group);
    context_.counters.resumed_groups += lease.begun.empty() ? 0 : 1;
    for (const auto& one : lease.begun) context_.counters.reused_tokens += one.response_tokens();
  }
  schedule_.lend(lease.group, lease.id);
  kept_.erase(lease.group);
  parked.room -= lease.n_samples;
  if (!is_evaluation(lease.group)) {
    first_lease_s_.try_emplace(schedule_.training().step_of(lease.group), context_.clock.now_s());
  }
  parked.leases.push_back(std::move(lease));
}

bool WorkDesk::answer() {
  bool answered = false;
  for (auto it = parked_.begin(); it != parked_.end();) {
    auto& [engine, parked] = *it;
    const bool news = schedule_.published().valid() && parked.request.known < schedule_.published();
    const auto recalled = recalls_.find(engine);
    const bool nothing = parked.leases.empty() && !news && recalled == recalls_.end();
    if (nothing && state_ == RunState::going) {
      ++it;
      continue;
    }
    exchange::WorkReply reply{std::move(parked.leases), schedule_.published(), state_, {}};
    if (recalled != recalls_.end()) {
      reply.recalls = std::move(recalled->second);
      recalls_.erase(recalled);
    }
    exchange::send(context_.transport, engine, reply);
    ++replies_[engine];
    context_.attendance.answered({engine, Party::engine}, context_.clock.served_s());
    it = parked_.erase(it);
    answered = true;
  }
  return answered;
}

std::int64_t WorkDesk::most_versions_behind() const {
  std::int64_t most = 0;
  for (const auto& [engine, version] : versions_) {
    if (!version.valid() || !schedule_.published().valid()) continue;
    most = std::max(most, schedule_.published().value() - version.value());
  }
  return most;
}

exchange::EngineCounters WorkDesk::engine_counters() const {
  exchange::EngineCounters all;
  for (const auto& [engine, counted] : counted_) all += counted;
  return all;
}

double WorkDesk::first_lease_s(std::int64_t step) {
  first_lease_s_.erase(first_lease_s_.begin(), first_lease_s_.lower_bound(step));
  const auto found = first_lease_s_.find(step);
  return found == first_lease_s_.end() ? context_.clock.now_s() : found->second;
}

std::string WorkDesk::describe() const {
  return std::to_string(leases_.size()) + " groups lent, " + std::to_string(parked_.size()) +
         " engines waiting for work";
}

}  // namespace physarum::buffer
