#pragma once

// Compiled once for each target: see simd.hpp.

#include "attention_kernels.hpp"
#include "kernels.hpp"
#include "norm_kernels.hpp"
#include "score_kernels.hpp"
#include "swiglu_kernels.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

constexpr Kernels make_table(const char* target) {
  return {.target = target,
          .rms_norm = rms_norm,
          .rms_norm_again = rms_norm_again,
          .rms_norm_backward = rms_norm_backward,
          .swiglu = swiglu,
          .swiglu_backward = swiglu_backward,
          .add_bias = add_bias,
          .add_row_sums = add_row_sums,
          .token_scores = token_scores,
          .token_scores_backward = token_scores_backward,
          .attention_scratch = attention_scratch,
          .attention = attention,
          .attention_backward = attention_backward};
}

}  // namespace physarum::model::PHYSARUM_KERNELS
