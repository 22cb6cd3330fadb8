#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "physarum/base/deadline.hpp"

#include "physarum/rollout/rollout_worker.hpp"

#include "lease_work.hpp"
#include "weight_follower.hpp"

namespace physarum::rollout {

class RolloutWorker::Impl {
 public:
  Impl(const RolloutPartners& partners, const RolloutOptions& options);

  bool advance();
  [[nodiscard]] bool finished() const { return partners_.work.finished(); }
  [[nodiscard]] exchange::EngineCounters counters() const;
  [[nodiscard]] base::Scalars statistics() const;

 private:
  /// Whether the engine's present weights may answer a lease.
  enum class Fit {
    now,
    later,  ///< newer weights are needed
    never,  ///< older ones are needed than the engine or the store has
  };

  bool poll();
  bool follow_weights();
  [[nodiscard]] bool weights_are_held() const;
  void ask_for_weights();
  void check_weights() const;
  void follow_some(std::int64_t budget_bytes);
  void fit_slice(double slice_s);
  void give_up_version();
  bool start_waiting();
  [[nodiscard]] Fit fit_of(const LeaseWork& work) const;
  void start(LeaseWork work);
  bool step();
  void take_answer(Generated answer);
  void warn_of_narrowed_nuclei();
  void count_failures(const Generated& answer);
  void start_again(std::vector<base::SampleId> aborted);
  void stop_recalled();
  void stop(const exchange::Recall& recall, std::deque<LeaseWork>& works);
  [[nodiscard]] LeaseWork& work_of(base::SampleId id);
  void hand_in_complete();
  void hand_in(LeaseWork& work);
  void fail_prompt(LeaseWork& work, std::string_view why);

  RolloutPartners partners_;
  RolloutOptions options_;
  // Copies: scratch memory of their own.
  text::Tokenizer tokenizer_;
  environment::PromptEncoder prompts_;
  DecodeEngine engine_;
  WeightFollower follower_;
  std::optional<base::WeightVersion> exactly_;        ///< what the present pull asks for
  std::optional<weights::PullResult> pulled_;         ///< not in use yet
  std::int64_t slice_bytes_ = std::int64_t{1} << 20;  ///< between two decode steps
  double step_s_ = 0;                                 ///< of the last decode step
  std::optional<base::WeightVersion> gone_;           ///< a version that the store no longer has
  std::deque<LeaseWork> waiting_;  ///< in the order in which they should be worked on
  std::deque<LeaseWork> in_flight_;
  base::Stopwatch age_;
  std::optional<base::Stopwatch> since_first_request_;
  double answering_s_ = 0;  ///< from the first request to the last answer
  std::int64_t answers_ = 0;
  std::int64_t groups_ = 0;
  std::int64_t failed_samples_ = 0;
  std::int64_t handed_back_groups_ = 0;
  std::int64_t failures_in_a_row_ = 0;
  bool gave_up_ = false;
  bool warned_of_narrowed_nuclei_ = false;
  double verify_s_ = 0;
};

}  // namespace physarum::rollout
