#pragma once

#include <string>
#include <vector>

#include "setup.hpp"
#include "weight_plan.hpp"

namespace physarum::app {

/// What one kind of rank will hold, by the sizes of the model and the options. Counted: weights in
/// all forms, gradients, optimiser state, the weight store, key-value cache, checkpoints under way.
/// Not counted: activations, libraries.
struct RankMemory {
  double mb = 0;
  std::string parts;  ///< what it is made of
};

struct MemoryPlan {
  RankMemory buffer, trainer, rollout;
  /// One line per kind of rank.
  [[nodiscard]] std::vector<std::string> lines() const;
};

[[nodiscard]] MemoryPlan memory_plan(const Setup& setup, const WeightPlan& share);

}  // namespace physarum::app
