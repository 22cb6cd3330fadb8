#pragma once

#include <cstdint>
#include <vector>

#include "physarum/sample/batch.hpp"
#include "physarum/sample/micro_batches.hpp"

#include "physarum/model/config.hpp"

#include "physarum/training/trainer.hpp"

namespace physarum::training::test {

/// Batches of made-up samples; the same for the same seed.
struct SyntheticBatches {
  std::int64_t groups = 4;
  std::int64_t group_size = 4;
  std::int64_t steps_per_rollout = 1;
  std::uint64_t seed = 1;
  sample::MicroBatchRule rule{sample::Packing::by_tokens, 1, 64};

  /// All samples of one rollout step, by id; prompts and responses of uneven length, some tokens
  /// not trained, one sample removed.
  [[nodiscard]] std::vector<sample::Sample> samples(std::int64_t step) const;
  /// The part of one data-parallel rank.
  [[nodiscard]] sample::Batch batch(std::int64_t step, int dp_size, int dp_rank) const;
};

/// A batch of these samples, for one rank.
[[nodiscard]] sample::Batch batch_of(std::vector<sample::Sample> samples,
                                     std::int64_t steps_per_rollout = 1,
                                     const sample::MicroBatchRule& rule = {
                                         sample::Packing::by_tokens, 1, 64});

/// Two layers, 24 wide, 40 tokens.
[[nodiscard]] model::ModelConfig tiny_model();
[[nodiscard]] std::vector<float> tiny_weights(std::uint64_t seed = 3);
[[nodiscard]] std::vector<float> random_weights(const model::ModelConfig& model,
                                                std::uint64_t seed = 3);
/// Learning rate 1e-2, constant, fp32 transfer.
[[nodiscard]] TrainerSetup tiny_setup();
/// The same for a model with four experts in its second layer, of which a token chooses two, and a
/// load-balancing loss.
[[nodiscard]] TrainerSetup expert_setup();

}  // namespace physarum::training::test
