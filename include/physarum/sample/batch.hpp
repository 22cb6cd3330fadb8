#pragma once

#include <cstdint>
#include <vector>

#include "physarum/sample/ids.hpp"
#include "physarum/sample/sample.hpp"

namespace physarum::sample {

/// What every trainer rank knows of every sample of a rollout batch: enough for group baselines,
/// normalisation and metrics without fetching the tokens.
struct SampleSummary {
  SampleId id;
  GroupId group;
  double reward = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t response_tokens = 0;
  std::int64_t trained_tokens = 0;
  std::int64_t newest_tokens = 0;  ///< those of them that the newest version made
  int owner = 0;                   ///< world rank of the buffer rank that stores it
  WeightVersion oldest;
  WeightVersion newest;
  SampleStatus status = SampleStatus::completed;
  bool removed = false;
  double generation_s = 0;

  [[nodiscard]] std::int64_t total_tokens() const { return prompt_tokens + response_tokens; }
  friend bool operator==(const SampleSummary&, const SampleSummary&) = default;
};

[[nodiscard]] SampleSummary summarise(const Sample& sample, int owner);

/// What mask_older_than() makes of the sample, whose newest version is `version` or older.
void mask_older_than(SampleSummary& summary, WeightVersion version);

/// Indices into BatchPlan::samples, ascending. Empty if there are fewer samples than micro-batches.
using MicroBatch = std::vector<std::int64_t>;
/// One rank's micro-batches of one optimiser step.
using MicroBatches = std::vector<MicroBatch>;

/// Who learns from what in one rollout step; the same on all ranks.
struct BatchPlan {
  std::int64_t step = 0;               ///< rollout id; the weights trained have this version
  std::vector<SampleSummary> samples;  ///< the whole batch, by sample id
  /// [optimiser step][data-parallel rank]; all ranks of a step have equally many micro-batches.
  std::vector<std::vector<MicroBatches>> micro_batches;

  [[nodiscard]] int dp_size() const {
    return micro_batches.empty() ? 0 : static_cast<int>(micro_batches.front().size());
  }
  friend bool operator==(const BatchPlan&, const BatchPlan&) = default;
};

/// A trainer rank's part of a rollout batch.
struct Batch {
  BatchPlan plan;
  int dp_rank = 0;
  std::vector<Sample> samples;  ///< those in plan.micro_batches[*][dp_rank], by sample id

  /// The sample that plan.samples[plan_index] summarises; it must be one of this rank's.
  [[nodiscard]] const Sample& sample(std::int64_t plan_index) const;
};

/// Indices into plan.samples that `dp_rank` trains on, ascending, each once.
[[nodiscard]] std::vector<std::int64_t> indices_of_rank(const BatchPlan& plan, int dp_rank);

}  // namespace physarum::sample
