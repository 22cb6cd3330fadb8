#pragma once

#include <cstdint>
#include <vector>

#include "physarum/sample/batch.hpp"

#include "physarum/training/options.hpp"

namespace physarum::training {

/// What one trained token of each sample counts in the loss of an optimiser step, by index into
/// plan.samples; 0 for samples of other steps. Made from the whole step, so that a sum over tokens
/// is the mean over the step however it is split into micro-batches and over ranks:
/// per sample  1 / (max(trained tokens of the sample, 1) · samples of the step),
/// per token   1 / (sum over the step's samples of max(trained tokens, 1)).
[[nodiscard]] std::vector<double> token_weights(const sample::BatchPlan& plan,
                                                std::int64_t optimiser_step,
                                                const LossOptions& options);

}  // namespace physarum::training
