#define PHYSARUM_KERNELS baseline
#include "gemm_table.hpp"

namespace physarum::model {

const GemmKernels& baseline_gemm_kernels() {
  static constexpr GemmKernels table = baseline::make_gemm_table("baseline");
  return table;
}

const GemmKernels& gemm_kernels() {
  static const GemmKernels* const best = [] {
    const auto* fast = avx2_gemm_kernels();
    return fast != nullptr ? fast : &baseline_gemm_kernels();
  }();
  return *best;
}

}  // namespace physarum::model
