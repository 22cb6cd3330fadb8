#include "weight_steps.hpp"

#include <bit>
#include <cmath>

namespace physarum::weights {
namespace {
// Of real steps of AdamW at lr 1e-6, from delta_figures' images: changes by one unit.
constexpr double near_share = 0.95;

constexpr std::uint32_t unit = 1U << 16;  // in the last place of a bf16

float cut_to_bf16(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & ~(unit - 1));
}
}  // namespace

WeightSteps::WeightSteps(std::int64_t elements)
    : memory_(elements * 4, AlignedBytes::Fill::zeros),
      values_(reinterpret_cast<float*>(memory_.span().data()), static_cast<std::size_t>(elements)) {
  // A uniform mantissa and some octaves: what matters to a delta is that values are not equal.
  for (float& value : values_) {
    const std::uint64_t bits = random_();
    const auto octave = static_cast<int>(bits >> 8 & 7);
    const float size = std::ldexp(1.0F + static_cast<float>(bits >> 11 & 127) / 128, -5 - octave);
    value = cut_to_bf16((bits & 1) != 0 ? size : -size);
  }
}

void WeightSteps::step(double density) {
  before_.assign(values_.begin(), values_.end());
  const auto gap_scale = 1 / std::log1p(-density);
  std::uniform_real_distribution<double> uniform(1e-18, 1);
  const auto gap = [&] { return static_cast<std::size_t>(std::log(uniform(random_)) * gap_scale); };
  for (std::size_t i = gap(); i < values_.size(); i += 1 + gap()) {
    const std::uint64_t bits = random_();
    const bool near = static_cast<double>(bits >> 40) < near_share * 0x1p24;
    const std::uint32_t distance =
        unit * (near ? 1 : 2 + static_cast<std::uint32_t>(bits >> 8 & 15));
    const auto old = std::bit_cast<std::uint32_t>(values_[i]);
    values_[i] = std::bit_cast<float>((bits & 1) != 0 ? old + distance : old - distance);
  }
}

}  // namespace physarum::weights
