#pragma once

#include <span>
#include <vector>

#include "physarum/sample/batch.hpp"

#include "physarum/training/options.hpp"

namespace physarum::training {

/// One advantage per sample, in the order given; all tokens of a sample share it. A pure function
/// of the whole rollout batch, so every rank gets the same without a message.
///
/// GRPO: rewards are centred on the mean of their group (by group id, wherever its samples stand)
/// and divided by its unbiased deviation + 1e-6. A group of one sample, or with equal rewards, has
/// advantage 0. Samples that are removed from the loss still count in their group.
[[nodiscard]] std::vector<double> estimate_advantages(
    std::span<const sample::SampleSummary> samples, const LossOptions& options);

}  // namespace physarum::training
