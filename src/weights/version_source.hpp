#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "physarum/base/bytes.hpp"

#include "store_access.hpp"
#include "store_layout.hpp"

namespace physarum::weights {

/// The versions in a buffer rank's window, one after another, for carriers that bring each of them
/// elsewhere once and in order. What a newer full image makes needless is left out.
class VersionSource {
 public:
  struct Candidate {
    base::WeightVersion version;
    base::WeightVersion before;
    std::int64_t slot;   ///< where a full image stands; -1: a delta
    std::int64_t entry;  ///< where a delta stands; -1: a full image
  };
  /// One contiguous part of the window.
  struct Piece {
    std::uint64_t offset;
    base::Bytes bytes;
  };
  /// All of it outlives the source.
  VersionSource(const StoreLayout& layout, int buffer, std::span<const std::byte> memory,
                StoreAccess& store)
      : layout_(layout), buffer_(buffer), memory_(memory), store_(store) {}

  /// What has to follow `taken`; nothing if nothing newer is there.
  [[nodiscard]] std::optional<Candidate> next(base::WeightVersion taken) const;
  /// A copy of its bytes. Of a full image one piece: the shard, at its end the digests. Of a delta
  /// the lengths with the digests behind them, then the frames of each region that has any. None:
  /// the version is not there any more.
  [[nodiscard]] std::vector<Piece> take(const Candidate& candidate);

 private:
  struct Extent {
    std::uint64_t offset;
    std::size_t bytes;
  };
  [[nodiscard]] bool still_there(const Candidate& candidate) const;
  [[nodiscard]] std::vector<Extent> extents(const Candidate& candidate) const;

  const StoreLayout& layout_;
  int buffer_;
  std::span<const std::byte> memory_;
  StoreAccess& store_;
};

}  // namespace physarum::weights
