#pragma once

// Compiled once for each target: see simd.hpp.

#include "simd.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

PHYSARUM_INLINE Floats sigmoid(Floats x) { return splat(1.0F) / (splat(1.0F) + exp(-x)); }

inline void swiglu(const float* gate_up, std::int64_t rows, std::int64_t width, float* y) {
  for (std::int64_t row = 0; row < rows; ++row, gate_up += 2 * width, y += width) {
    const float* up = gate_up + width;
    for_row(width, [&](std::int64_t i, std::int64_t count) PHYSARUM_INLINE_LAMBDA {
      const Floats gate = load_up_to(gate_up + i, count);
      store_up_to(y + i, count, gate * sigmoid(gate) * load_up_to(up + i, count));
    });
  }
}

/// With s = sigmoid(gate): d_up = dy * gate * s, d_gate = dy * up * s * (1 + gate * (1 - s)).
inline void swiglu_backward(float* gate_up, std::int64_t rows, std::int64_t width, float* dy) {
  for (std::int64_t row = 0; row < rows; ++row, gate_up += 2 * width, dy += width) {
    float* ups = gate_up + width;
    for_row(width, [&](std::int64_t i, std::int64_t count) PHYSARUM_INLINE_LAMBDA {
      const Floats gate = load_up_to(gate_up + i, count);
      const Floats up = load_up_to(ups + i, count);
      const Floats d = load_up_to(dy + i, count);
      const Floats s = sigmoid(gate);
      const Floats silu = gate * s;
      const Floats slope = multiply_add(silu, splat(1.0F) - s, s);
      store_up_to(ups + i, count, d * silu);
      store_up_to(gate_up + i, count, d * up * slope);
      store_up_to(dy + i, count, silu * up);
    });
  }
}

}  // namespace physarum::model::PHYSARUM_KERNELS
