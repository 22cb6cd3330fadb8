#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/weights/catalogue.hpp"
#include "physarum/weights/options.hpp"
#include "physarum/weights/reshard_rounds.hpp"

namespace physarum::weights {

template <class T>
[[nodiscard]] std::span<T> slice(std::span<T> bytes, Range range) {
  return bytes.subspan(static_cast<std::size_t>(range.begin),
                       static_cast<std::size_t>(range.size()));
}

/// The part of the image that one trainer rank puts into one buffer rank.
struct Region {
  int trainer = 0;
  int buffer = 0;
  Range bytes;                ///< of the image; whole blocks (the last one may be short)
  std::int64_t index = 0;     ///< among the regions of its buffer
  std::int64_t offset = 0;    ///< of its frames inside a ring entry's payload
  std::int64_t capacity = 0;  ///< bytes that its frames may take
};

/// Who owns what of the image, and where it lies in each buffer rank's window. A pure function of
/// its arguments: all ranks compute the same, nobody asks.
///
/// The image is cut into blocks of block_bytes, the unit of digests and of ownership. Buffer rank b
/// keeps a contiguous run of blocks (its shard), trainer rank t puts a contiguous run (its share);
/// where the two meet is a Region. Window of a buffer rank, all offsets multiples of 64:
///
///     words (StoreWords) | slot 0: shard, digests | slot 1: the same |
///     ring entry 0: length word of each region, digests, frames of each region | entry 1 | ...
///
/// Digests (keyed_sums.hpp) are of the shard's blocks in the state that the slot or entry leads to.
class StoreLayout {
 public:
  static constexpr std::int64_t block_bytes = StoreShards::block_bytes;
  static constexpr std::int64_t digest_bytes = 16;

  StoreLayout(const Catalogue& catalogue, const WeightOptions& options, int buffer_ranks,
              int trainer_ranks);

  [[nodiscard]] int buffer_ranks() const { return buffers_; }
  [[nodiscard]] int trainer_ranks() const { return trainers_; }
  /// Places in the ring: one is being written while the others can be read, so one more than the
  /// option says. 0 with UpdateMode::full.
  [[nodiscard]] std::int64_t ring() const { return ring_; }
  /// Of that many versions one goes out in full; 0: only where a delta is not possible.
  [[nodiscard]] std::int64_t full_interval() const { return full_interval_; }
  [[nodiscard]] UpdateMode mode() const { return mode_; }
  [[nodiscard]] TransferType type() const { return type_; }
  [[nodiscard]] std::int64_t image_bytes() const { return image_bytes_; }
  [[nodiscard]] std::int64_t blocks() const;
  /// Of everything that ranks must agree on.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

  [[nodiscard]] Range shard(int buffer) const {
    return StoreShards(image_bytes_, buffers_).of(buffer);
  }
  [[nodiscard]] Range share(int trainer) const {
    return StoreShards(image_bytes_, trainers_).of(trainer);
  }
  [[nodiscard]] std::vector<Region> regions_of_trainer(int trainer) const;
  /// In order of Region::index.
  [[nodiscard]] std::span<const Region> regions_of_buffer(int buffer) const;

  [[nodiscard]] std::int64_t window_bytes(int buffer) const;
  /// Offsets inside a buffer's window.
  [[nodiscard]] std::uint64_t slot_offset(int buffer, std::int64_t slot) const;
  [[nodiscard]] std::uint64_t slot_digests_offset(int buffer, std::int64_t slot) const;
  [[nodiscard]] std::uint64_t lengths_offset(int buffer, std::int64_t entry) const;
  [[nodiscard]] std::uint64_t entry_digests_offset(int buffer, std::int64_t entry) const;
  [[nodiscard]] std::uint64_t frames_offset(const Region& region, std::int64_t entry) const;
  /// How many blocks a block-aligned range holds, and where its digests start in a shard's table.
  [[nodiscard]] static std::int64_t blocks_of(Range bytes);
  [[nodiscard]] std::uint64_t digest_place(int buffer, Range bytes) const;

 private:
  struct Sizes {  // of one buffer's window, in bytes
    std::int64_t shard = 0;
    std::int64_t digests = 0;
    std::int64_t lengths = 0;
    std::int64_t frames = 0;
    [[nodiscard]] std::int64_t slot() const { return shard + digests; }
    [[nodiscard]] std::int64_t entry() const { return lengths + digests + frames; }
  };
  [[nodiscard]] const Sizes& sizes(int buffer) const;
  [[nodiscard]] std::int64_t entry_offset(int buffer, std::int64_t entry) const;

  std::int64_t image_bytes_;
  TransferType type_;
  UpdateMode mode_;
  std::int64_t ring_;
  std::int64_t full_interval_;
  int buffers_;
  int trainers_;
  std::uint64_t hash_ = 0;
  std::vector<std::vector<Region>> regions_;  // by buffer
  std::vector<Sizes> sizes_;
};

}  // namespace physarum::weights
