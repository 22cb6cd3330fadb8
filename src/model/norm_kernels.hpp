#pragma once

// Compiled once for each target: see simd.hpp.

#include <cmath>

#include "simd.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

inline float sum_of_products(const float* a, const float* b, std::int64_t width) {
  Chains sum;
  for_row(width, [&](std::int64_t i, std::int64_t count) PHYSARUM_INLINE_LAMBDA {
    sum.add_product(load_up_to(a + i, count), load_up_to(b + i, count));
  });
  return sum.total();
}

inline void scale_row(const float* x, const float* weight, float factor, std::int64_t width,
                      float* y) {
  for_row(width, [&](std::int64_t i, std::int64_t count) PHYSARUM_INLINE_LAMBDA {
    const Floats scaled = load_up_to(x + i, count) * splat(factor);
    store_up_to(y + i, count, scaled * load_up_to(weight + i, count));
  });
}

inline void rms_norm(const float* x, const float* weight, float epsilon, std::int64_t rows,
                     std::int64_t width, float* y, float* inverse_rms) {
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width) {
    const float mean = sum_of_products(x, x, width) / static_cast<float>(width);
    inverse_rms[row] = 1.0F / std::sqrt(mean + epsilon);
    scale_row(x, weight, inverse_rms[row], width, y);
  }
}

inline void rms_norm_again(const float* x, const float* weight, const float* inverse_rms,
                           std::int64_t rows, std::int64_t width, float* y) {
  for (std::int64_t row = 0; row < rows; ++row) {
    scale_row(x + row * width, weight, inverse_rms[row], width, y + row * width);
  }
}

/// With r = inverse_rms: dx += r * dy * w - x * r^3 / width * sum(dy * w * x); dw += dy * x * r.
inline void rms_norm_backward_row(const float* dy, const float* x, const float* weight, float r,
                                  std::int64_t width, float* dx, float* d_weight) {
  Chains sum;
  for_row(width, [&](std::int64_t i, std::int64_t count) PHYSARUM_INLINE_LAMBDA {
    const Floats product = load_up_to(dy + i, count) * load_up_to(x + i, count);
    sum.add_product(product, load_up_to(weight + i, count));
    store_up_to(d_weight + i, count,
                multiply_add(product, splat(r), load_up_to(d_weight + i, count)));
  });
  const Floats pull = splat(-r * r * r * sum.total() / static_cast<float>(width));
  for_row(width, [&](std::int64_t i, std::int64_t count) PHYSARUM_INLINE_LAMBDA {
    const Floats direct = load_up_to(dy + i, count) * load_up_to(weight + i, count) * splat(r);
    const Floats total = multiply_add(load_up_to(x + i, count), pull, direct);
    store_up_to(dx + i, count, load_up_to(dx + i, count) + total);
  });
}

inline void rms_norm_backward(const float* dy, const float* x, const float* weight,
                              const float* inverse_rms, std::int64_t rows, std::int64_t width,
                              float* dx, float* d_weight) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t at = row * width;
    rms_norm_backward_row(dy + at, x + at, weight, inverse_rms[row], width, dx + at, d_weight);
  }
}

inline void add_bias(const float* bias, std::int64_t rows, std::int64_t width, std::int64_t stride,
                     float* y) {
  for (std::int64_t row = 0; row < rows; ++row, y += stride) {
    for_row(width, [&](std::int64_t i, std::int64_t count) PHYSARUM_INLINE_LAMBDA {
      store_up_to(y + i, count, load_up_to(y + i, count) + load_up_to(bias + i, count));
    });
  }
}

inline void add_row_sums(const float* dy, std::int64_t rows, std::int64_t width,
                         std::int64_t stride, float* d_bias) {
  for (std::int64_t row = 0; row < rows; ++row, dy += stride) {
    for_row(width, [&](std::int64_t i, std::int64_t count) PHYSARUM_INLINE_LAMBDA {
      store_up_to(d_bias + i, count, load_up_to(d_bias + i, count) + load_up_to(dy + i, count));
    });
  }
}

}  // namespace physarum::model::PHYSARUM_KERNELS
