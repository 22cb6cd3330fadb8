#pragma once

// Compiled once for each target: see simd.hpp.

#include <cmath>

#include "physarum/model/decode_kernels.hpp"

#include "norm_kernels.hpp"
#include "simd.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

inline void normalise_rows(const float* x, const float* weight, float epsilon, std::int64_t rows,
                           std::int64_t width, float* y) {
  for (std::int64_t row = 0; row < rows; ++row) {
    float inverse_rms = 0.0F;
    rms_norm(x + row * width, weight, epsilon, 1, width, y + row * width, &inverse_rms);
  }
}

inline void store_token(const CacheShape& shape, const CacheRow& row, const float* cosines,
                        const float* sines, float* qkv) {
  const std::int64_t half = shape.head_dim / 2;
  const float scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim));
  for (std::int64_t h = 0; h < shape.heads; ++h, qkv += shape.head_dim) {
    for (std::int64_t d = 0; d < half; ++d) {
      const float cosine = cosines[d] * scale;
      const float sine = sines[d] * scale;
      const float low = qkv[d];
      const float high = qkv[d + half];
      qkv[d] = low * cosine - high * sine;
      qkv[d + half] = high * cosine + low * sine;
    }
  }
  const std::int64_t slot = row.position % cache_block_tokens;
  float* block = row.blocks[row.position / cache_block_tokens] + row.layer * shape.layer_floats();
  for (std::int64_t h = 0; h < shape.key_value_heads; ++h, qkv += shape.head_dim) {
    float* keys = block + h * shape.head_floats() + slot;
    for (std::int64_t d = 0; d < half; ++d) {
      const float low = qkv[d];
      const float high = qkv[d + half];
      keys[d * cache_block_tokens] = low * cosines[d] - high * sines[d];
      keys[(d + half) * cache_block_tokens] = high * cosines[d] + low * sines[d];
    }
  }
  for (std::int64_t h = 0; h < shape.key_value_heads; ++h, qkv += shape.head_dim) {
    float* values =
        block + h * shape.head_floats() + shape.key_floats() + slot * shape.value_width();
    std::memcpy(values, qkv, static_cast<std::size_t>(shape.head_dim) * sizeof(float));
  }
}

inline ExpSum exponentials(const float* logits, std::int64_t count, float scale,
                           float* exponentials, float* chunk_sums) {
  constexpr float lowest = -3.0e38F;
  Floats largest = splat(lowest);
  for_row(count, [&](std::int64_t i, std::int64_t n) PHYSARUM_INLINE_LAMBDA {
    largest = max(largest, load_up_to(logits + i, n, lowest));
  });
  ExpSum result{max_of(largest) * scale, 0.0};
  for (std::int64_t first = 0; first < count; first += exp_chunk, ++chunk_sums) {
    const std::int64_t left = count - first;
    Chains sums;
    for_row(left < exp_chunk ? left : exp_chunk,
            [&](std::int64_t i, std::int64_t n) PHYSARUM_INLINE_LAMBDA {
              // Padding lies so low that its exponential is 0.
              const Floats logit = load_up_to(logits + first + i, n, -1e30F);
              const Floats e = exp(multiply_add(logit, splat(scale), splat(-result.top)));
              store_up_to(exponentials + first + i, n, e);
              sums.add(e);
            });
    *chunk_sums = sums.total();
    result.sum += static_cast<double>(*chunk_sums);
  }
  return result;
}

}  // namespace physarum::model::PHYSARUM_KERNELS
