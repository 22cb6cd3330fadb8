#define PHYSARUM_KERNELS baseline
#include "kernel_table.hpp"

namespace physarum::model {

const Kernels& baseline_kernels() {
  static constexpr Kernels table = baseline::make_table("baseline");
  return table;
}

}  // namespace physarum::model
