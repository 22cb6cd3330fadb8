#include "kernels.hpp"

#include "best_table.hpp"

namespace physarum::model {

const Kernels& kernels() {
  static const Kernels& best = best_table(avx512_kernels(), avx2_kernels(), baseline_kernels());
  return best;
}

}  // namespace physarum::model
