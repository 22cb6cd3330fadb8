#pragma once

#include <cstdint>
#include <vector>

#include "physarum/weights/reshard_plan.hpp"

namespace physarum::weights {

/// Chooses who puts what several ranks hold, so that every byte is put once and the most that a
/// rank puts is small.
class PutOwners {
 public:
  explicit PutOwners(std::int64_t ranks) : puts_(static_cast<std::size_t>(ranks)) {}

  /// A slice that a rank holds of the part of a tensor that is being given out.
  struct Held {
    std::int64_t rank = 0;
    ShardSlice slice;
  };
  /// All slices that any rank holds of one part of one tensor: equal counts and strides.
  void give_out(const std::vector<Held>& held);
  /// By rank, ascending in the image. Ends the work.
  [[nodiscard]] std::vector<std::vector<ShardSlice>> finish();

 private:
  void put(const Held& held) { puts_[static_cast<std::size_t>(held.rank)].push_back(held.slice); }
  std::vector<std::vector<ShardSlice>> puts_;
  std::vector<std::vector<Held>> choices_;  // bytes that more than one rank holds
};

}  // namespace physarum::weights
