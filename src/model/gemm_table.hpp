#pragma once

// Compiled once for each target: see simd.hpp.

#include "gemm_interleave.hpp"
#include "gemm_tile.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

constexpr GemmKernels make_gemm_table(const char* target) {
  return {.target = target,
          .multiply_panels = multiply_panels<float>,
          .multiply_half_panels = multiply_panels<std::uint16_t>,
          .interleave_left = interleave<gemm_tile_rows>,
          .interleave_right = interleave<panel_columns>};
}

}  // namespace physarum::model::PHYSARUM_KERNELS
