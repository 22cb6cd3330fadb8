#pragma once

#include <cstdint>
#include <vector>

#include "physarum/weights/reshard_plan.hpp"

namespace physarum::weights {

/// Along what a tensor is shared between tensor-parallel ranks.
enum class Split : std::uint8_t {
  copied,          ///< every rank has all of it
  rows,            ///< of [out, in], by count
  columns,         ///< of [out, in], by count
  vocabulary,      ///< rows, padded
  query_rows,      ///< whole query heads
  query_columns,   ///< whole query heads, of the matrix that reads them
  key_value_rows,  ///< whole key-value heads: those that the rank's query heads use
};

/// Rows of a tensor that are shared in one way. Most tensors are one part; fused ones have more.
struct SplitPart {
  Split split = Split::copied;
  Range rows;
};

/// How one tensor is shared.
struct SplitRule {
  enum class Place : std::uint8_t { first_stage, layer, last_stage };
  Place place = Place::layer;
  std::int64_t layer = -1;   ///< with Place::layer
  std::int64_t expert = -1;  ///< -1: belongs to no expert
  std::int64_t rows = 1;     ///< the tensor as a matrix
  std::int64_t columns = 1;
  std::vector<SplitPart> parts;
};

/// By the tensor's name (llama, mistral, qwen2, qwen3, mixtral, and mixtures of experts as of
/// qwen and deepseek). Throws UserError that names the tensor: unknown, or of a shape that cannot
/// be split so.
[[nodiscard]] SplitRule split_rule(const TensorSpec& spec, const SplitFacts& facts);

/// Part `index` of `count` nearly equal ones of [0, extent).
[[nodiscard]] Range even_part(std::int64_t extent, std::int64_t index, std::int64_t count);

/// What a rank of `ranks` has of a part: rows of the part, or columns of the tensor.
struct PartShare {
  Range range;
  std::int64_t padded = 0;  ///< as long as this in the rank's memory
};
[[nodiscard]] PartShare share_of_part(const SplitRule& rule, const SplitPart& part,
                                      const SplitFacts& facts, std::int64_t rank,
                                      std::int64_t ranks, std::int64_t vocabulary_multiple);

}  // namespace physarum::weights
