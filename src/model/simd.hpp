#pragma once

// Vectors of eight floats by the compilers' vector extension. This file is compiled once for each
// target (see kernels.hpp), each time into the namespace PHYSARUM_KERNELS. Everything is forced
// inline: an out-of-line copy could be merged by the linker with one for another target.

#include <cstdint>
#include <cstring>

#ifndef PHYSARUM_KERNELS
#error "define PHYSARUM_KERNELS as the namespace of the target"
#endif
#define PHYSARUM_INLINE inline __attribute__((always_inline))
#define PHYSARUM_INLINE_LAMBDA __attribute__((always_inline))

namespace physarum::model::PHYSARUM_KERNELS {

using Float8 = float __attribute__((vector_size(32)));
using Int8 = std::int32_t __attribute__((vector_size(32)));
constexpr std::int64_t lanes = 8;

PHYSARUM_INLINE Float8 splat(float value) {
  return Float8{value, value, value, value, value, value, value, value};
}

PHYSARUM_INLINE Float8 load(const float* from) {
  Float8 v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

PHYSARUM_INLINE void store(float* to, Float8 v) { std::memcpy(to, &v, sizeof v); }

/// The first `count` (< 8) lanes from memory, the others `fill`.
PHYSARUM_INLINE Float8 load_some(const float* from, std::int64_t count, float fill) {
  Float8 v = splat(fill);
  for (std::int64_t i = 0; i < count; ++i) v[i] = from[i];
  return v;
}

PHYSARUM_INLINE void store_some(float* to, std::int64_t count, Float8 v) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = v[i];
}

/// A whole vector, or at the end of a row what is left of it.
PHYSARUM_INLINE Float8 load_up_to(const float* from, std::int64_t count, float fill = 0.0F) {
  return count == lanes ? load(from) : load_some(from, count, fill);
}

PHYSARUM_INLINE void store_up_to(float* to, std::int64_t count, Float8 v) {
  if (count == lanes) {
    store(to, v);
  } else {
    store_some(to, count, v);
  }
}

/// Calls body(i, count) for the vectors of a row: count is 8, at the end of the row what is left.
template <class Body>
PHYSARUM_INLINE void for_row(std::int64_t width, Body body) {
  std::int64_t i = 0;
  for (; i + lanes <= width; i += lanes) body(i, lanes);
  if (i < width) body(i, width - i);
}

/// If one side is not a number, the result is the second argument: give the constant first, and
/// what is not a number stays visible.
PHYSARUM_INLINE Float8 max(Float8 a, Float8 b) { return a > b ? a : b; }
PHYSARUM_INLINE Float8 min(Float8 a, Float8 b) { return a < b ? a : b; }

/// Always the same tree, so that sums have the same bits whatever they belong to.
PHYSARUM_INLINE float sum_of(Float8 v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

PHYSARUM_INLINE float max_of(Float8 v) {
  float best = v[0];
  for (int i = 1; i < 8; ++i) best = v[i] > best ? v[i] : best;
  return best;
}

/// e^x within 2 units in the last place on [-87.3, 88.3]; below it 0, above it the value at 88.3.
/// Range reduction by ln 2 in two parts, then a polynomial (Cephes' expf) and a shift of the
/// exponent.
PHYSARUM_INLINE Float8 exp(Float8 x) {
  const Float8 lowest = splat(-87.33654F);
  const Float8 clamped = min(splat(88.3F), max(lowest, x));
  const Float8 magic = splat(12582912.0F);  // 1.5 * 2^23: adding it rounds to an integer
  const Float8 shifted = clamped * splat(1.44269504F) + magic;
  const Float8 n = shifted - magic;
  const Float8 reduced = (clamped - n * splat(0.693359375F)) - n * splat(-2.12194440e-4F);
  Float8 p = splat(1.9875691500e-4F);
  p = p * reduced + splat(1.3981999507e-3F);
  p = p * reduced + splat(8.3334519073e-3F);
  p = p * reduced + splat(4.1665795894e-2F);
  p = p * reduced + splat(1.6666665459e-1F);
  p = p * reduced + splat(5.0000001201e-1F);
  p = p * (reduced * reduced) + reduced + splat(1.0F);
  Int8 bits;
  Int8 magic_bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  std::memcpy(&magic_bits, &magic, sizeof bits);
  const Int8 exponent = (bits - magic_bits + 127) << 23;
  Float8 scale;
  std::memcpy(&scale, &exponent, sizeof scale);
  return x < lowest ? splat(0.0F) : p * scale;
}

}  // namespace physarum::model::PHYSARUM_KERNELS
