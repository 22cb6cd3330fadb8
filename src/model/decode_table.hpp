#pragma once

// Compiled once for each target: see simd.hpp.

#include "decode_attention.hpp"
#include "decode_rows.hpp"
#include "swiglu_kernels.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

constexpr DecodeKernels make_decode_table(const char* target) {
  return {.target = target,
          .rms_norm = normalise_rows,
          .swiglu = swiglu,
          .store_token = store_token,
          .attend = attend,
          .exponentials = exponentials};
}

}  // namespace physarum::model::PHYSARUM_KERNELS
