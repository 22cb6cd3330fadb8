#include "physarum/exchange/work_client.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"

namespace physarum::exchange {

WorkClient::WorkClient(Transport& transport, std::vector<WorldRank> buffers)
    : transport_(transport), buffers_(std::move(buffers)) {
  base::expects(!buffers_.empty(), "there is a head to ask");
}

bool WorkClient::poll(std::int64_t free_samples, WeightVersion current,
                      const EngineCounters& counters) {
  base::expects(free_samples >= 0, "an engine's room is not negative");
  if (finished_) return false;
  bool received = false;
  while (auto envelope = transport_.try_receive(Party::engine)) {
    receive(*envelope);
    received = true;
  }
  // An open question is asked again only if it has become more promising.
  if (!finished_ && (!asked_free_ || free_samples > *asked_free_))
    ask(free_samples, current, counters);
  return received;
}

void WorkClient::receive(const Envelope& envelope) {
  try {
    auto reply = decode<WorkReply>(envelope.bytes);
    ++replies_;
    asked_free_.reset();
    if (!newest_.valid() || newest_ < reply.newest) newest_ = reply.newest;
    for (auto& lease : reply.leases) {
      held_[lease.id] = {lease.group, lease.purpose, lease.n_samples, lease.first_sample,
                         lease.owner};
      fresh_.push_back(std::move(lease));
    }
    for (const auto& recalled : reply.recalls) recall(recalled);
    if (reply.state == RunState::over) end();
  } catch (const base::MalformedBytes& error) {
    ++malformed_;
    base::log_error("work reply of rank " + std::to_string(envelope.peer.value()) +
                    " dropped: " + error.what());
  }
}

/// What was handed in crossed its recall.
void WorkClient::recall(const Recall& recall) {
  if (!held_.contains(recall.lease)) return;
  if (recall.form == RecallForm::drop) {
    held_.erase(recall.lease);
    // The worker never hears of a lease that it has not taken yet.
    if (std::erase_if(fresh_, [&](const auto& lease) { return lease.id == recall.lease; }) > 0)
      return;
  }
  recalls_.push_back(recall);
}

/// Nothing that is in flight is wanted any more. Goodbye goes to every rank that this engine may
/// have sent to, behind its last delivery.
void WorkClient::end() {
  finished_ = true;
  held_.clear();
  fresh_.clear();
  recalls_.clear();
  for (const auto buffer : buffers_) send(transport_, buffer, Goodbye{Party::engine});
}

void WorkClient::ask(std::int64_t free_samples, WeightVersion current,
                     const EngineCounters& counters) {
  send(transport_, buffers_.front(),
       WorkRequest{free_samples, replies_, newest_, current, counters});
  asked_free_ = free_samples;
}

std::vector<sample::Lease> WorkClient::take_leases() { return std::exchange(fresh_, {}); }

std::vector<Recall> WorkClient::take_recalls() { return std::exchange(recalls_, {}); }

std::int64_t WorkClient::leases_in_flight() const {
  return static_cast<std::int64_t>(held_.size());
}

void WorkClient::check_answer(const sample::SampleGroup& group) const {
  check(group);
  const auto found = held_.find(group.lease);
  base::expects(found != held_.end(), "a group is handed in once, for a lease that was taken");
  const auto& held = found->second;
  base::expects(held.group == group.id && held.purpose == group.purpose &&
                    held.n_samples == static_cast<std::int64_t>(group.samples.size()) &&
                    held.first_sample == group.samples.front().id,
                "a group answers its lease");
}

void WorkClient::hand_in(const sample::SampleGroup& group) {
  if (finished_) return;
  check_answer(group);
  send(transport_, WorldRank(held_.at(group.lease).owner), Delivery{group});
  held_.erase(group.lease);
}

void WorkClient::hand_back(const sample::SampleGroup& group) {
  if (finished_) return;
  check_answer(group);
  base::expects(group.has_aborted(), "a finished group is handed in, not back");
  send(transport_, buffers_.front(), HandBack{group});
  held_.erase(group.lease);
}

void WorkClient::raise_alarm(std::string_view why) {
  if (!finished_) send(transport_, buffers_.front(), Alarm{std::string(why)});
}

}  // namespace physarum::exchange
