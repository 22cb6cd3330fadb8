#pragma once

#include <cstdint>

#include "split_rules.hpp"

namespace physarum::weights {

/// Lays out what one rank holds, tensor after tensor.
class ShardBuilder {
 public:
  ShardBuilder(const Catalogue& catalogue, const SplitFacts& facts,
               std::int64_t vocabulary_multiple)
      : catalogue_(catalogue), facts_(facts), vocabulary_multiple_(vocabulary_multiple) {}

  /// Appends the share that rank `rank` of `ranks` has of the tensor: a slice for each part of
  /// which it has something.
  void add(std::int64_t tensor, const SplitRule& rule, std::int64_t rank, std::int64_t ranks,
           Shard& shard) const;

 private:
  [[nodiscard]] ShardSlice slice_of(std::int64_t tensor, const SplitRule& rule,
                                    const SplitPart& part, Range range) const;

  const Catalogue& catalogue_;
  const SplitFacts& facts_;
  std::int64_t vocabulary_multiple_;
};

}  // namespace physarum::weights
