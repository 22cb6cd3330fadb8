#define PHYSARUM_KERNELS baseline
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

std::int64_t attention_scratch(const CacheShape& shape, std::int64_t tokens) {
  const std::int64_t padded =
      (tokens + cache_block_tokens - 1) / cache_block_tokens * cache_block_tokens;
  return padded * (shape.heads < 4 ? shape.heads : 4);
}

}  // namespace physarum::model
