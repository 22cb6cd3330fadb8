#define PHYSARUM_KERNELS avx2
#include "decode_table.hpp"

namespace physarum::model {

#if defined(__AVX2__) && defined(__FMA__)
const DecodeKernels* avx2_decode_kernels() {
  static constexpr DecodeKernels table = avx2::make_decode_table("avx2");
  const bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return supported ? &table : nullptr;
}
#else
const DecodeKernels* avx2_decode_kernels() { return nullptr; }
#endif

}  // namespace physarum::model
