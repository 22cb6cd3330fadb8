#define PHYSARUM_KERNELS avx2
#include "gemm_table.hpp"

namespace physarum::model {

#if defined(__AVX2__) && defined(__FMA__)
const GemmKernels* avx2_gemm_kernels() {
  static constexpr GemmKernels table = avx2::make_gemm_table("avx2");
  const bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return supported ? &table : nullptr;
}
#else
const GemmKernels* avx2_gemm_kernels() { return nullptr; }
#endif

}  // namespace physarum::model
