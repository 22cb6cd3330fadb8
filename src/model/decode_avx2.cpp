#define PHYSARUM_KERNELS avx2
#include "best_table.hpp"
#include "decode_table.hpp"

namespace physarum::model {

#if defined(__AVX2__) && defined(__FMA__)
const DecodeKernels* avx2_decode_kernels() {
  static constexpr DecodeKernels table = avx2::make_decode_table("avx2");
  return has_avx2() ? &table : nullptr;
}
#else
const DecodeKernels* avx2_decode_kernels() { return nullptr; }
#endif

}  // namespace physarum::model
