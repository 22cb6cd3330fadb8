#define PHYSARUM_KERNELS avx512
#include "best_table.hpp"
#include "gemm_table.hpp"

namespace physarum::model {

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
const GemmKernels* avx512_gemm_kernels() {
  static constexpr GemmKernels table = avx512::make_gemm_table("avx512");
  return has_avx512() ? &table : nullptr;
}
#else
const GemmKernels* avx512_gemm_kernels() { return nullptr; }
#endif

}  // namespace physarum::model
