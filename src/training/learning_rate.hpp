#pragma once

#include <cstdint>

#include "physarum/training/options.hpp"

namespace physarum::training {

/// Learning rate by number of finished optimiser steps, as Megatron's scheduler has it: from
/// lr_warmup_init in a straight line to lr over the warm-up, then to min_lr at the end of the decay
/// (warm-up included), then min_lr; "constant" stays at lr. So with a warm-up the first step has
/// lr_warmup_init.
class LearningRate {
 public:
  /// `total_steps`: optimiser steps of the whole run, the decay's length if none is given.
  LearningRate(const OptimiserOptions& options, std::int64_t total_steps);
  [[nodiscard]] double at(std::int64_t finished_steps) const;

 private:
  [[nodiscard]] double share_left(double progress) const;
  OptimiserOptions options_;
  double warmup_;
  double decay_;
};

}  // namespace physarum::training
