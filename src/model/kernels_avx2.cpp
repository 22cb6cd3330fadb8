#define PHYSARUM_KERNELS avx2
#include "kernel_table.hpp"

namespace physarum::model {

#if defined(__AVX2__) && defined(__FMA__)
const Kernels* avx2_kernels() {
  static constexpr Kernels table = avx2::make_table("avx2");
  const bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return supported ? &table : nullptr;
}
#else
const Kernels* avx2_kernels() { return nullptr; }
#endif

}  // namespace physarum::model
