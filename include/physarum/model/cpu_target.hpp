#pragma once

#include <string_view>

namespace physarum::model {

/// What the loops of this room may use of a processor; each is a compilation of the same source.
/// Ordered: a later one can do all that an earlier one can. From avx2 on the results have the same
/// bits; baseline rounds products and sums one by one.
enum class CpuTarget {
  baseline,  ///< the base architecture
  avx2,      ///< AVX2 with fused multiply-add
  avx512,    ///< AVX-512 F, VL, DQ and BW
};

[[nodiscard]] std::string_view name_of(CpuTarget target);

/// The best that this build and this processor can do, or less if the environment variable
/// PHYSARUM_CPU (baseline, avx2, avx512) says so. Decided once. UserError if it names something
/// else or more than there is.
[[nodiscard]] CpuTarget cpu_target();

}  // namespace physarum::model
