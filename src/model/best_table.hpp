#pragma once

#include "physarum/model/cpu_target.hpp"

namespace physarum::model {

/// Of three compilations of one kind of kernels, the one for cpu_target().
template <class Table>
[[nodiscard]] const Table& best_table(const Table* avx512, const Table* avx2,
                                      const Table& baseline) {
  if (cpu_target() == CpuTarget::avx512) return *avx512;
  return cpu_target() == CpuTarget::avx2 ? *avx2 : baseline;
}

/// Whether this processor can run what the files *_avx2.cpp and *_avx512.cpp are compiled for.
#if defined(__x86_64__)
[[nodiscard]] inline bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
[[nodiscard]] inline bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}
#endif

}  // namespace physarum::model
