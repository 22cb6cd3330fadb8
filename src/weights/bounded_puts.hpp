#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "physarum/base/deadline.hpp"

#include "store_access.hpp"

namespace physarum::weights {

/// Puts of any length, of which at most `most_bytes` are under way at a time.
class BoundedPuts {
 public:
  BoundedPuts(StoreAccess& access, std::int64_t most_bytes)
      : access_(access), most_bytes_(static_cast<std::size_t>(most_bytes)) {}

  /// Waits, until `deadline` (throws), for earlier ones if there are too many; `from` stays alive
  /// and untouched until finish().
  void put(std::span<const std::byte> from, int buffer, std::uint64_t offset,
           const base::Deadline& deadline) {
    while (!from.empty()) {
      if (under_way_ == most_bytes_) finish(deadline);
      const std::size_t piece = std::min(from.size(), most_bytes_ - under_way_);
      access_.put(from.first(piece), buffer, offset);
      under_way_ += piece;
      from = from.subspan(piece);
      offset += piece;
    }
  }
  /// All are complete at the buffer ranks.
  void finish(const base::Deadline& deadline) {
    access_.flush(deadline);
    under_way_ = 0;
  }

 private:
  StoreAccess& access_;
  std::size_t most_bytes_;
  std::size_t under_way_ = 0;
};

}  // namespace physarum::weights
