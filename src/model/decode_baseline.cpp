#define PHYSARUM_KERNELS baseline
#include <algorithm>

#include "best_table.hpp"
#include "decode_table.hpp"

namespace physarum::model {

const DecodeKernels& baseline_decode_kernels() {
  static constexpr DecodeKernels table = baseline::make_decode_table("baseline");
  return table;
}

const DecodeKernels& decode_kernels() {
  static const DecodeKernels& best =
      best_table(avx512_decode_kernels(), avx2_decode_kernels(), baseline_decode_kernels());
  return best;
}

namespace {
constexpr std::int64_t most_scores = most_attention_rows << 10;

std::int64_t whole_blocks(std::int64_t count) {
  return (count + cache_block_tokens - 1) / cache_block_tokens * cache_block_tokens;
}
}  // namespace

std::int64_t attention_rows(const CacheShape& shape, std::int64_t tokens) {
  const std::int64_t group = shape.heads / shape.key_value_heads;
  const std::int64_t scores = group * whole_blocks(tokens);
  return std::max<std::int64_t>(1, std::min(most_attention_rows / group, most_scores / scores));
}

std::int64_t attention_scratch(const CacheShape& shape, std::int64_t tokens) {
  const std::int64_t group = shape.heads / shape.key_value_heads;
  const std::int64_t queries = std::max(group, most_attention_rows);
  const std::int64_t padded = whole_blocks(tokens);
  const std::int64_t scores =
      std::max(group * padded, std::min(most_attention_rows * padded, most_scores));
  return scores + queries * (whole_blocks(shape.value_width()) + 1);
}

}  // namespace physarum::model
