#define PHYSARUM_KERNELS baseline
#include "best_table.hpp"
#include "gemm_table.hpp"

namespace physarum::model {

const GemmKernels& baseline_gemm_kernels() {
  static constexpr GemmKernels table = baseline::make_gemm_table("baseline");
  return table;
}

const GemmKernels& gemm_kernels() {
  static const GemmKernels& best =
      best_table(avx512_gemm_kernels(), avx2_gemm_kernels(), baseline_gemm_kernels());
  return best;
}

}  // namespace physarum::model
