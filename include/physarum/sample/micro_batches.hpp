#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/sample/batch.hpp"

namespace physarum::sample {

enum class Packing : std::uint8_t {
  by_count,   ///< at most micro_batch_size samples
  by_tokens,  ///< at most max_tokens tokens, prompt and response; a longer sample gets its own
};

struct MicroBatchRule {
  Packing packing = Packing::by_count;
  std::int64_t micro_batch_size = 1;
  std::int64_t max_tokens = 0;
};

/// Splits a rollout batch: first into `num_steps` optimiser steps of equally many samples in id
/// order, then over `dp_size` ranks and into micro-batches, balanced by tokens. Every rank gets the
/// same number of micro-batches (otherwise collectives hang). Depends on its arguments only, never
/// on who generated what or when. `samples` is sorted by id, its length a multiple of `num_steps`.
[[nodiscard]] std::vector<std::vector<MicroBatches>> plan_micro_batches(
    std::span<const SampleSummary> samples, int dp_size, std::int64_t num_steps,
    const MicroBatchRule& rule);

}  // namespace physarum::sample
