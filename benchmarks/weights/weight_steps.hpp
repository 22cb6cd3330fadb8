#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "physarum/weights/image.hpp"

namespace physarum::weights {

/// bf16 weights that change as training changes them: a share of the elements a step, most by one
/// unit in the last place, a few by more. Follows from its seed.
class WeightSteps {
 public:
  explicit WeightSteps(std::int64_t elements);
  /// Changes about `density` of the elements.
  void step(double density);
  /// As a trainer has them after a step: in fp32, rounded.
  [[nodiscard]] std::span<const float> values() const { return values_; }
  /// Before that step.
  [[nodiscard]] std::span<const float> values_before() const { return before_; }

 private:
  AlignedBytes memory_;  // a trainer's is in huge pages too
  std::vector<float> before_;
  std::span<float> values_;
  std::mt19937_64 random_{20260101};
};

}  // namespace physarum::weights
