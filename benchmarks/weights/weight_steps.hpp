#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace physarum::weights {

/// bf16 weights that change as training changes them: a share of the elements a step, most by one
/// unit in the last place, a few by more. Follows from its seed.
class WeightSteps {
 public:
  explicit WeightSteps(std::int64_t elements);
  /// Changes about `density` of the elements.
  void step(double density);
  [[nodiscard]] std::span<const std::uint16_t> state() const { return state_; }

 private:
  std::vector<std::uint16_t> state_;
  std::mt19937_64 random_{20260101};
};

}  // namespace physarum::weights
