#pragma once

#include <cstdint>

#include "physarum/base/philox.hpp"

namespace physarum::buffer {

enum class Shuffle : std::uint8_t { off, per_epoch };

/// Which prompt the k-th group of a run gets: one epoch after another, each in the source's order
/// or in a random order of its own. A pure function of (seed, k), so nothing is saved to resume it
/// and no list of a huge procedural source is ever made.
class PromptOrder {
 public:
  PromptOrder(std::int64_t size, Shuffle shuffle, std::uint64_t seed);

  /// 0 <= result < size, for any position >= 0.
  [[nodiscard]] std::int64_t index(std::int64_t position) const;
  [[nodiscard]] std::int64_t epoch(std::int64_t position) const { return position / size_; }

 private:
  [[nodiscard]] std::uint64_t permute(std::uint64_t value, std::int64_t epoch) const;
  std::int64_t size_;
  Shuffle shuffle_;
  base::RandomStream stream_;
  int half_bits_ = 0;
};

}  // namespace physarum::buffer
