#pragma once

#include <cstdint>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/sample/sample.hpp"

namespace physarum::sample {

/// What every data-parallel rank knows of every sample of a rollout batch.
struct SampleSummary {
  base::SampleId id;
  base::GroupId group;
  double reward = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t response_tokens = 0;
  std::int64_t trained_tokens = 0;
  int owner = 0;  ///< world rank of the buffer that stores it
  base::WeightVersion oldest;
  base::WeightVersion newest;
  SampleStatus status = SampleStatus::completed;

  [[nodiscard]] std::int64_t total_tokens() const { return prompt_tokens + response_tokens; }
  friend bool operator==(const SampleSummary&, const SampleSummary&) = default;
};

/// Indices into BatchPlan::samples.
using MicroBatch = std::vector<std::int64_t>;
/// One rank's micro-batches of one optimiser step.
using MicroBatches = std::vector<MicroBatch>;

/// Who learns from what in one rollout step; the same on all ranks.
struct BatchPlan {
  std::int64_t step = 0;               ///< rollout id
  std::vector<SampleSummary> samples;  ///< the whole batch, by sample id
  /// [optimiser step][data-parallel rank]; all ranks of a step have equally many micro-batches.
  std::vector<std::vector<MicroBatches>> micro_batches;

  friend bool operator==(const BatchPlan&, const BatchPlan&) = default;
};

}  // namespace physarum::sample
