#include "weight_steps.hpp"

#include <bit>
#include <cmath>

namespace physarum::weights {
namespace {
// Of real steps of AdamW at lr 1e-6, from delta_figures' images: changes by one unit.
constexpr double near_share = 0.95;

std::uint16_t to_bf16(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}
}  // namespace

WeightSteps::WeightSteps(std::int64_t elements) : state_(static_cast<std::size_t>(elements)) {
  // A uniform mantissa and some octaves: what matters to a delta is that values are not equal.
  for (auto& element : state_) {
    const std::uint64_t bits = random_();
    const auto octave = static_cast<int>(bits >> 8 & 7);
    const float size = std::ldexp(1.0F + static_cast<float>(bits >> 11 & 127) / 128, -5 - octave);
    element = to_bf16((bits & 1) != 0 ? size : -size);
  }
}

void WeightSteps::step(double density) {
  const auto gap_scale = 1 / std::log1p(-density);
  std::uniform_real_distribution<double> uniform(1e-18, 1);
  const auto gap = [&] { return static_cast<std::size_t>(std::log(uniform(random_)) * gap_scale); };
  for (std::size_t i = gap(); i < state_.size(); i += 1 + gap()) {
    const std::uint64_t bits = random_();
    const bool near = static_cast<double>(bits >> 40) < near_share * 0x1p24;
    const int distance = near ? 1 : 2 + static_cast<int>(bits >> 8 & 15);
    state_[i] = static_cast<std::uint16_t>(state_[i] + ((bits & 1) != 0 ? distance : -distance));
  }
}

}  // namespace physarum::weights
