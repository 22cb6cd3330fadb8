#pragma once

// Compiled once for each target: see simd.hpp.

#include "gemm_interleave.hpp"
#include "gemm_tile.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

constexpr GemmKernels make_gemm_table(const char* target) {
  return {.target = target,
          .multiply_strip = multiply_whole_strip<float>,
          .multiply_half_strip = multiply_whole_strip<std::uint16_t>,
          .interleave_left = interleave_left,
          .interleave_right = interleave_right};
}

}  // namespace physarum::model::PHYSARUM_KERNELS
