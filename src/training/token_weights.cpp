#include "token_weights.hpp"

#include <algorithm>

namespace physarum::training {
namespace {

std::vector<std::int64_t> indices_of_step(const sample::BatchPlan& plan, std::int64_t step) {
  std::vector<std::int64_t> indices;
  for (const auto& rank : plan.micro_batches.at(static_cast<std::size_t>(step))) {
    for (const auto& micro_batch : rank) {
      indices.insert(indices.end(), micro_batch.begin(), micro_batch.end());
    }
  }
  return indices;
}

}  // namespace

std::vector<double> token_weights(const sample::BatchPlan& plan, std::int64_t optimiser_step,
                                  const LossOptions& options) {
  const auto indices = indices_of_step(plan, optimiser_step);
  const auto counted = [&](std::int64_t index) {
    return std::max<std::int64_t>(plan.samples.at(static_cast<std::size_t>(index)).trained_tokens,
                                  1);
  };
  // Integers, so the sum does not depend on the order of the micro-batches.
  std::int64_t tokens = 0;
  for (const std::int64_t index : indices) tokens += counted(index);
  const auto samples = static_cast<double>(indices.size());

  std::vector<double> weights(plan.samples.size());
  for (const std::int64_t index : indices) {
    const double share = options.calculate_per_token_loss
                             ? static_cast<double>(tokens)
                             : static_cast<double>(counted(index)) * samples;
    weights[static_cast<std::size_t>(index)] = 1 / share;
  }
  return weights;
}

}  // namespace physarum::training
