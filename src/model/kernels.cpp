#include "kernels.hpp"

namespace physarum::model {

const Kernels& kernels() {
  static const Kernels* const best = [] {
    const auto* fast = avx2_kernels();
    return fast != nullptr ? fast : &baseline_kernels();
  }();
  return *best;
}

}  // namespace physarum::model
