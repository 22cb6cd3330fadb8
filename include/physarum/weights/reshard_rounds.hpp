#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/weights/catalogue.hpp"
#include "physarum/weights/reshard_plan.hpp"

namespace physarum::weights {

/// How the image is shared over the buffer ranks: contiguous runs of whole blocks. (Trainer ranks
/// that all hold the whole model share what they put in the same way.)
class StoreShards {
 public:
  static constexpr std::int64_t block_bytes = 64 * 1024;
  StoreShards(std::int64_t image_bytes, std::int64_t buffer_ranks);
  /// Bytes of the image that this rank keeps; may be none.
  [[nodiscard]] Range of(std::int64_t buffer) const;
  /// Who keeps this byte of the image.
  [[nodiscard]] std::int64_t holder(std::int64_t byte) const;

 private:
  std::int64_t image_bytes_;
  std::int64_t buffers_;
};

/// Bytes that travel between one rank and one buffer rank.
struct Transfer {
  std::int64_t buffer = 0;
  StridedRange store;  ///< offsets inside the part of the image that the buffer rank keeps
  std::int64_t shard_offset = 0;
  std::int64_t shard_stride = 0;
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// Cuts what a rank puts or gets into rounds of at most so many bytes, so that a buffer of that
/// size is all the memory that it needs beside its shard. Makes one round at a time: the whole is
/// never written down.
class RoundCutter {
 public:
  /// The slices outlive it. `round_bytes` at least 4; rounds hold whole elements.
  RoundCutter(std::span<const ShardSlice> slices, const StoreShards& store,
              std::int64_t round_bytes);
  /// The next round, full unless it is the last one; empty: there are no more.
  [[nodiscard]] std::vector<Transfer> next();

 private:
  [[nodiscard]] Transfer cut(std::int64_t most_bytes);

  std::span<const ShardSlice> slices_;
  StoreShards store_;
  std::int64_t round_bytes_;
  std::size_t slice_ = 0;
  std::int64_t done_ = 0;  // bytes of slices_[slice_]
};

/// How many rounds a RoundCutter makes of so many bytes.
[[nodiscard]] std::int64_t rounds_for(std::int64_t bytes, std::int64_t round_bytes);

}  // namespace physarum::weights
