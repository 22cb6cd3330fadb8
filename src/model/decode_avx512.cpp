#define PHYSARUM_KERNELS avx512
#include "best_table.hpp"
#include "decode_table.hpp"

namespace physarum::model {

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
const DecodeKernels* avx512_decode_kernels() {
  static constexpr DecodeKernels table = avx512::make_decode_table("avx512");
  return has_avx512() ? &table : nullptr;
}
#else
const DecodeKernels* avx512_decode_kernels() { return nullptr; }
#endif

}  // namespace physarum::model
