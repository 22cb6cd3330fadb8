#pragma once

// Compiled once for each target: see simd.hpp.

#include <cmath>
#include <limits>

#include "physarum/model/decode_kernels.hpp"

#include "kernels.hpp"
#include "simd.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

constexpr float lowest_float = std::numeric_limits<float>::lowest();

inline float largest_of(const float* logits, std::int64_t vocab) {
  Floats largest = splat(lowest_float);
  for_row(vocab, [&](std::int64_t i, std::int64_t count) PHYSARUM_INLINE_LAMBDA {
    largest = max(largest, load_up_to(logits + i, count, lowest_float));
  });
  return max_of(largest);
}

struct ExpSums {
  double exponentials;  ///< sum of e^(z - top)
  float weighted;       ///< sum of e^(z - top) * (z - top)
};

/// z = logits * scale, top = the largest z. Exponentials are summed as the engines do it
/// (DecodeKernels::exponentials), to the same bits.
inline ExpSums exp_sums(const float* logits, std::int64_t vocab, float scale, float top) {
  double exponentials = 0;
  Chains weighted;
  for (std::int64_t first = 0; first < vocab; first += exp_chunk) {
    const std::int64_t left = vocab - first;
    const float* chunk = logits + first;
    Chains sums;
    for_row(left < exp_chunk ? left : exp_chunk, [&](std::int64_t i,
                                                     std::int64_t count) PHYSARUM_INLINE_LAMBDA {
      // Padding lies so low that its exponential is 0; times a finite depth it adds nothing.
      const Floats logit = load_up_to(chunk + i, count, -1e30F);
      const Floats depth = max(splat(-1e30F), multiply_add(logit, splat(scale), splat(-top)));
      const Floats e = exp(depth);
      sums.add(e);
      weighted.add_product(e, depth);
    });
    exponentials += static_cast<double>(sums.total());
  }
  return {exponentials, weighted.total()};
}

inline void token_scores(const ScoreShape& shape, const float* logits, float* log_probs,
                         float* log_sums, float* entropies) {
  const float scale = shape.inverse_temperature;
  for (std::int64_t row = 0; row < shape.rows; ++row, logits += shape.vocab) {
    const float top = largest_of(logits, shape.vocab) * scale;
    const ExpSums sums = exp_sums(logits, shape.vocab, scale, top);
    const float log_depth = static_cast<float>(std::log(sums.exponentials));
    log_sums[row] = top + log_depth;
    log_probs[row] = log_prob_of(logits[shape.targets[row]], scale, {top, sums.exponentials});
    // -sum p log p with log p = (z - top) - log_depth.
    if (entropies != nullptr) {
      entropies[row] = log_depth - sums.weighted / static_cast<float>(sums.exponentials);
    }
  }
}

/// With z = logit * scale, p = softmax(z), H = entropy:
///   d(log_prob)/dz = [target] - p,   dH/dz = -p * (log p + H).
inline void score_row_backward(float* logits, std::int64_t vocab, float scale, float log_sum,
                               float d_log_prob, float d_entropy) {
  float entropy = 0.0F;
  if (d_entropy != 0.0F) {
    Chains sum;
    for_row(vocab, [&](std::int64_t i, std::int64_t count) PHYSARUM_INLINE_LAMBDA {
      const Floats logit = load_up_to(logits + i, count, -1e30F);
      const Floats log_p = max(splat(-1e30F), multiply_add(logit, splat(scale), splat(-log_sum)));
      sum.add_product(exp(log_p), log_p);
    });
    entropy = -sum.total();
  }
  const Floats constant = splat(-(d_log_prob + d_entropy * entropy) * scale);
  const Floats slope = splat(-d_entropy * scale);
  for_row(vocab, [&](std::int64_t i, std::int64_t count) PHYSARUM_INLINE_LAMBDA {
    const Floats log_p = multiply_add(load_up_to(logits + i, count), splat(scale), splat(-log_sum));
    store_up_to(logits + i, count, exp(log_p) * multiply_add(log_p, slope, constant));
  });
}

inline void token_scores_backward(const ScoreShape& shape, const float* log_sums,
                                  const float* d_log_probs, const float* d_entropies,
                                  float* logits) {
  for (std::int64_t row = 0; row < shape.rows; ++row, logits += shape.vocab) {
    const float d_entropy = d_entropies == nullptr ? 0.0F : d_entropies[row];
    score_row_backward(logits, shape.vocab, shape.inverse_temperature, log_sums[row],
                       d_log_probs[row], d_entropy);
    logits[shape.targets[row]] += d_log_probs[row] * shape.inverse_temperature;
  }
}

}  // namespace physarum::model::PHYSARUM_KERNELS
