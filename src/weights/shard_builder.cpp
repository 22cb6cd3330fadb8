#include "shard_builder.hpp"

namespace physarum::weights {
namespace {
bool by_columns(const SplitPart& part) {
  return part.split == Split::columns || part.split == Split::query_columns;
}
}  // namespace

void ShardBuilder::add(std::int64_t tensor, const SplitRule& rule, std::int64_t rank,
                       std::int64_t ranks, Shard& shard) const {
  const std::int64_t width = element_bytes(catalogue_.type());
  for (const SplitPart& part : rule.parts) {
    const PartShare share = share_of_part(rule, part, facts_, rank, ranks, vocabulary_multiple_);
    if (share.range.size() > 0) {
      shard.slices.push_back(slice_of(tensor, rule, part, share.range));
      shard.slices.back().shard_offset = shard.bytes;
    }
    shard.bytes += share.padded * (by_columns(part) ? part.rows.size() : rule.columns) * width;
  }
  const std::int64_t line = Catalogue::alignment_elements * width;
  shard.bytes = (shard.bytes + line - 1) / line * line;
}

ShardSlice ShardBuilder::slice_of(std::int64_t tensor, const SplitRule& rule, const SplitPart& part,
                                  Range range) const {
  const std::int64_t width = element_bytes(catalogue_.type());
  const std::int64_t row = rule.columns * width;
  const std::int64_t begin = catalogue_.bytes(tensor).begin + part.rows.begin * row;
  ShardSlice slice;
  slice.tensor = tensor;
  if (by_columns(part)) {
    slice.image = {begin + range.begin * width, range.size() * width, part.rows.size(), row};
  } else {
    slice.image = {begin + range.begin * row, range.size() * row, 1, range.size() * row};
  }
  slice.shard_stride = slice.image.length;
  return slice;
}

}  // namespace physarum::weights
