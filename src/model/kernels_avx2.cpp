#define PHYSARUM_KERNELS avx2
#include "best_table.hpp"
#include "kernel_table.hpp"

namespace physarum::model {

#if defined(__AVX2__) && defined(__FMA__)
const Kernels* avx2_kernels() {
  static constexpr Kernels table = avx2::make_table("avx2");
  return has_avx2() ? &table : nullptr;
}
#else
const Kernels* avx2_kernels() { return nullptr; }
#endif

}  // namespace physarum::model
