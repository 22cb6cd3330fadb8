#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "physarum/exchange/messages.hpp"

#include "retire_desk.hpp"
#include "schedule.hpp"
#include "server_context.hpp"
#include "work_desk.hpp"

namespace physarum::buffer {

/// The head's side towards trainers: hands out one batch after another. A batch is put together
/// when the first trainer asks for it, is under way until every trainer has its part, and is then
/// retired; only then comes the next one. Without trainers every complete batch is retired at once.
/// An errand takes the place of a batch or goes with it, so all trainers get it at the same point.
class TakeDesk {
 public:
  TakeDesk(ServerContext& context, Schedule& schedule, WorkDesk& work, RetireDesk& retired);

  void ask(WorldRank trainer, std::int64_t step);
  /// All trainers are to do this before they learn from the next batch that is not handed out yet.
  void send_errand(exchange::Errand errand);
  /// Trainers were told to stop: no batch is handed out any more.
  [[nodiscard]] bool stopping() const { return stopping_; }
  /// While a checkpoint is made, no batch is put together.
  void pause(bool paused) { paused_ = paused; }
  void fetched(WorldRank trainer, std::int64_t step);
  bool advance();

  /// True if no batch is under way.
  [[nodiscard]] bool idle() const { return !plan_; }
  /// True if every step of the run has been handed out.
  [[nodiscard]] bool done() const { return !plan_ && step_ >= context_.settings.num_rollout; }
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] bool has_trainers() const { return !context_.settings.peers.trainers.empty(); }
  [[nodiscard]] bool wanted() const;
  bool assemble();
  void retry(const std::vector<GroupId>& stale);
  void mask_older(std::vector<sample::SampleSummary>& samples) const;
  void end_rollout();
  void report(const std::vector<sample::SampleSummary>& samples);
  void report_over_sampling(const std::vector<sample::SampleSummary>& samples,
                            base::Scalars& metrics) const;
  bool hand_out();
  bool hand_out_errand();
  /// The next batch is taken before the version that it needs is replaced: it cannot be left out.
  [[nodiscard]] bool takes_ahead() const;
  bool finish_batch();

  ServerContext& context_;
  Schedule& schedule_;
  WorkDesk& work_;
  RetireDesk& retired_;
  std::int64_t step_;                         ///< under way, or the next one
  std::map<WorldRank, std::int64_t> asking_;  ///< trainers that wait for a step
  std::optional<sample::BatchPlan> plan_;
  std::vector<GroupId> groups_;
  std::set<WorldRank> fetched_;
  exchange::EngineCounters counted_before_;      ///< what engines had counted at the last report
  std::optional<exchange::Errand> errand_;       ///< not handed out yet
  std::optional<exchange::Errand> plan_errand_;  ///< goes with the batch under way
  bool stopping_ = false;
  bool paused_ = false;
};

}  // namespace physarum::buffer
