#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "physarum/exchange/loopback_transport.hpp"
#include "physarum/exchange/messages.hpp"
#include "physarum/exchange/work_client.hpp"

namespace physarum::rollout {

/// A buffer of one process for one engine: lends what the test gives it, as the engine has room,
/// and keeps what comes back.
class ScriptedHead {
 public:
  ScriptedHead() : client_(network_.endpoint(1), {base::WorldRank(0)}) {}

  [[nodiscard]] exchange::WorkClient& client() { return client_; }
  void lend(sample::Lease lease) { leases_.push_back(std::move(lease)); }
  void announce(std::int64_t version) { newest_ = base::WeightVersion(version); }
  void end() { over_ = true; }
  void recall(base::LeaseId lease, exchange::RecallForm form) { recalls_.push_back({lease, form}); }
  void forget(std::int64_t group) { groups_.erase(group); }
  /// What was handed back, by group.
  [[nodiscard]] const std::map<std::int64_t, sample::SampleGroup>& returned() const {
    return returned_;
  }
  [[nodiscard]] const std::map<std::int64_t, sample::SampleGroup>& groups() const {
    return groups_;
  }
  [[nodiscard]] const std::vector<std::string>& alarms() const { return alarms_; }

  void serve() {
    while (auto envelope = network_.endpoint(0).try_receive(exchange::Party::server)) {
      if (envelope->kind == exchange::MessageKind::work_request) {
        request_ = exchange::decode<exchange::WorkRequest>(envelope->bytes);
      } else if (envelope->kind == exchange::MessageKind::delivery) {
        auto group = exchange::decode<exchange::Delivery>(envelope->bytes).group;
        const auto id = group.id.value();
        groups_.emplace(id, std::move(group));
      } else if (envelope->kind == exchange::MessageKind::hand_back) {
        auto group = exchange::decode<exchange::HandBack>(envelope->bytes).group;
        const auto id = group.id.value();
        returned_.insert_or_assign(id, std::move(group));
      } else if (envelope->kind == exchange::MessageKind::alarm) {
        alarms_.push_back(exchange::decode<exchange::Alarm>(envelope->bytes).text);
      }
    }
    if (request_) answer();
  }

 private:
  void answer() {
    exchange::WorkReply reply;
    reply.newest = newest_;
    reply.state = over_ ? exchange::RunState::over : exchange::RunState::going;
    auto room = request_->free_samples;
    while (!leases_.empty() && leases_.front().n_samples <= room) {
      room -= leases_.front().n_samples;
      reply.leases.push_back(std::move(leases_.front()));
      leases_.pop_front();
    }
    reply.recalls = std::exchange(recalls_, {});
    if (reply.leases.empty() && reply.recalls.empty() && !over_ && newest_ == request_->known)
      return;
    exchange::send(network_.endpoint(0), base::WorldRank(1), reply);
    request_.reset();
  }

  exchange::LoopbackNetwork network_{2};
  exchange::WorkClient client_;
  std::deque<sample::Lease> leases_;
  std::map<std::int64_t, sample::SampleGroup> groups_;
  std::map<std::int64_t, sample::SampleGroup> returned_;
  std::vector<exchange::Recall> recalls_;
  std::vector<std::string> alarms_;
  std::optional<exchange::WorkRequest> request_;
  base::WeightVersion newest_;
  bool over_ = false;
};

}  // namespace physarum::rollout
