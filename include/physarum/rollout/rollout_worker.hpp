#pragma once

#include <cstdint>
#include <memory>

#include "physarum/base/metrics.hpp"

#include "physarum/text/tokenizer.hpp"

#include "physarum/weights/puller.hpp"

#include "physarum/exchange/work_client.hpp"

#include "physarum/model/config.hpp"

#include "physarum/environment/prompt_encoder.hpp"
#include "physarum/environment/registry.hpp"

#include "physarum/rollout/options.hpp"

namespace physarum::rollout {

/// What a worker works with; owned by the caller, alive as long as the worker.
struct RolloutPartners {
  exchange::WorkClient& work;
  weights::Puller& puller;
  weights::CataloguePtr catalogue;
  const model::ModelConfig& model;
  const text::Tokenizer& tokenizer;
  const environment::PromptEncoder& prompts;
  const environment::EnvironmentRegistry& environments;
  std::int64_t seed;  ///< of sampling, where the options name none
};

/// So many answers fail one after another only if the weights are no good: the worker then raises
/// the alarm, which names the weight version, and does nothing more. The head ends the run.
inline constexpr std::int64_t most_failures_in_a_row = 64;

/// The role loop of one engine (one rank): takes leases, generates, verifies, hands in complete
/// groups; between decode steps it looks for new weights, pulls them in slices into a shadow image
/// and swaps. One thread, the one that owns MPI.
class RolloutWorker {
 public:
  /// Throws UserError if options and model do not fit. A share of the memory is bytes by now
  /// (RolloutOptions::cache_bytes).
  RolloutWorker(const RolloutPartners& partners, const RolloutOptions& options);
  ~RolloutWorker();
  RolloutWorker(const RolloutWorker&) = delete;
  RolloutWorker& operator=(const RolloutWorker&) = delete;
  RolloutWorker(RolloutWorker&&) noexcept;
  RolloutWorker& operator=(RolloutWorker&&) noexcept;

  /// One turn: messages, a slice of a pull, at most one decode step. True if it did something; does
  /// not wait. Throws what the puller throws when weights cannot be had.
  bool advance();
  /// The run is over (the work client said so); what was in flight is dropped.
  [[nodiscard]] bool finished() const;

  /// What the head is told with every request.
  [[nodiscard]] exchange::EngineCounters counters() const;
  /// Figures since the start, the counters' among them: rollout/tokens_per_s, rollout/busy_share,
  /// rollout/pull_s and others; rollout/answering_s is the time from the first request to the last
  /// of rollout/answers.
  [[nodiscard]] base::Scalars statistics() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::rollout
