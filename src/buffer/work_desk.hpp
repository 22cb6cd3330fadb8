#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "physarum/exchange/messages.hpp"

#include "lease_table.hpp"
#include "schedule.hpp"
#include "server_context.hpp"

namespace physarum::buffer {

/// The head's side towards engines: parks their questions and answers them when there is work for
/// them, a newer version or the end. Shares work out evenly: an engine that has more than its part
/// in flight waits while another one may still come for its own.
class WorkDesk {
 public:
  WorkDesk(ServerContext& context, Schedule& schedule);

  void ask(WorldRank engine, const exchange::WorkRequest& request);
  void arrive(const exchange::Arrival& arrival);
  /// A recalled group comes back unfinished. Throws MalformedBytes.
  void take_back(WorldRank engine, sample::SampleGroup group);
  /// The step is full: nobody waits for what engines still work on. It is recalled, to be finished
  /// in later steps, or it and what is finished but was not taken is discarded.
  void end_step(exchange::RecallForm form);
  /// Its leases go back.
  void drop(WorldRank engine);
  /// No more work: everybody who asks is told so.
  void end() { state_ = exchange::RunState::over; }

  /// One turn: ends leases whose deadline is over and answers whom it can. True if it did
  /// something.
  bool advance();
  [[nodiscard]] std::int64_t leases() const { return leases_.size(); }
  [[nodiscard]] std::int64_t next_lease() const { return leases_.next_id(); }
  /// Of all engines, each as it was when it last asked, lost ones included.
  [[nodiscard]] exchange::EngineCounters engine_counters() const;
  /// How many versions the weights of the slowest engine were behind when it last asked.
  [[nodiscard]] std::int64_t most_versions_behind() const;
  /// When the first group of a step was lent; forgets earlier steps.
  [[nodiscard]] double first_lease_s(std::int64_t step);
  [[nodiscard]] std::string describe() const;

 private:
  struct Parked {
    exchange::WorkRequest request;
    std::int64_t room = 0;
    std::vector<sample::Lease> leases;
  };
  bool expire();
  bool grant();
  /// Of that, unfinished groups whose engine asks: it may still have their keys and values.
  bool grant_kept();
  /// The engine that gets the next lease, of `n_samples`; null if none may have it now.
  [[nodiscard]] std::map<WorldRank, Parked>::iterator choose(std::int64_t n_samples,
                                                             std::int64_t share);
  [[nodiscard]] std::int64_t share() const;
  void lend(WorldRank engine, Parked& parked, sample::Lease lease);
  bool answer();
  void give_back(const LeaseRecord& record);
  void store(const exchange::Arrival& arrival);

  ServerContext& context_;
  Schedule& schedule_;
  LeaseTable leases_;
  std::map<WorldRank, Parked> parked_;
  std::map<WorldRank, std::int64_t> replies_;
  std::map<WorldRank, std::vector<exchange::Recall>> recalls_;  ///< not told yet
  std::map<WorldRank, exchange::EngineCounters> counted_;
  std::map<WorldRank, WeightVersion> versions_;  ///< that engines work with
  std::map<GroupId, WorldRank> kept_;            ///< who handed back a group that waits since then
  std::map<std::int64_t, double> first_lease_s_;
  exchange::RunState state_ = exchange::RunState::going;
};

}  // namespace physarum::buffer
