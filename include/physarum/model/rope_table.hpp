#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/model/config.hpp"

namespace physarum::model {

/// Cosines and sines of rotary positions, computed in fp32 as transformers does: pair i of a head,
/// (i, i + head_dim / 2), turns by position * theta^(-2 i / head_dim), a frequency that
/// rope_scaling may lower.
class RopeTable {
 public:
  explicit RopeTable(const ModelConfig& config);

  /// Makes positions [0, positions) available; spans and pointers from before may move.
  void reserve(std::int64_t positions);
  [[nodiscard]] std::int64_t positions() const { return positions_; }

  /// [positions, head_dim / 2], row-major.
  [[nodiscard]] std::span<const float> cosines() const { return cosines_; }
  [[nodiscard]] std::span<const float> sines() const { return sines_; }

 private:
  std::vector<float> frequencies_;
  std::vector<float> cosines_;
  std::vector<float> sines_;
  std::int64_t positions_ = 0;
};

}  // namespace physarum::model
