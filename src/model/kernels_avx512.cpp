#define PHYSARUM_KERNELS avx512
#include "best_table.hpp"
#include "kernel_table.hpp"

namespace physarum::model {

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
const Kernels* avx512_kernels() {
  static constexpr Kernels table = avx512::make_table("avx512");
  return has_avx512() ? &table : nullptr;
}
#else
const Kernels* avx512_kernels() { return nullptr; }
#endif

}  // namespace physarum::model
