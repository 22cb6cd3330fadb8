#include "physarum/model/rope_table.hpp"

#include <cmath>
#include <numbers>

namespace physarum::model {

namespace {
/// Llama 3.1: long wavelengths are stretched, short ones are not, those between partly.
float stretch_llama3(const RopeScaling& scaling, float frequency) {
  const auto factor = static_cast<float>(scaling.factor);
  const auto low = static_cast<float>(scaling.low_freq_factor);
  const auto high = static_cast<float>(scaling.high_freq_factor);
  const auto context = static_cast<float>(scaling.original_positions);
  const float wavelength = 2.0F * std::numbers::pi_v<float> / frequency;
  if (wavelength > context / low) return frequency / factor;
  if (wavelength < context / high) return frequency;
  const float smooth = (context / wavelength - low) / (high - low);
  return (1.0F - smooth) * frequency / factor + smooth * frequency;
}

float stretch(const RopeScaling& scaling, float frequency) {
  switch (scaling.kind) {
    case RopeScaling::Kind::none:
      return frequency;
    case RopeScaling::Kind::linear:
      return frequency / static_cast<float>(scaling.factor);
    case RopeScaling::Kind::llama3:
      return stretch_llama3(scaling, frequency);
  }
  return frequency;
}
}  // namespace

RopeTable::RopeTable(const ModelConfig& config) {
  const auto theta = static_cast<float>(config.rope_theta);
  for (std::int64_t i = 0; i < config.head_dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(config.head_dim);
    frequencies_.push_back(stretch(config.rope_scaling, 1.0F / std::pow(theta, exponent)));
  }
}

void RopeTable::reserve(std::int64_t positions) {
  for (; positions_ < positions; ++positions_) {
    for (const float frequency : frequencies_) {
      const float angle = static_cast<float>(positions_) * frequency;
      cosines_.push_back(std::cos(angle));
      sines_.push_back(std::sin(angle));
    }
  }
}

}  // namespace physarum::model
