#define PHYSARUM_KERNELS avx2
#include "best_table.hpp"
#include "gemm_table.hpp"

namespace physarum::model {

#if defined(__AVX2__) && defined(__FMA__)
const GemmKernels* avx2_gemm_kernels() {
  static constexpr GemmKernels table = avx2::make_gemm_table("avx2");
  return has_avx2() ? &table : nullptr;
}
#else
const GemmKernels* avx2_gemm_kernels() { return nullptr; }
#endif

}  // namespace physarum::model
