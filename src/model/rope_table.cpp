#include "physarum/model/rope_table.hpp"

#include <cmath>

namespace physarum::model {

RopeTable::RopeTable(const ModelConfig& config) {
  const auto theta = static_cast<float>(config.rope_theta);
  for (std::int64_t i = 0; i < config.head_dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(config.head_dim);
    frequencies_.push_back(1.0F / std::pow(theta, exponent));
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
