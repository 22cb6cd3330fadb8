#pragma once

// Vectors of floats by the compilers' vector extension. This file is compiled once for each target
// (see cpu_target.hpp), each time into the namespace PHYSARUM_KERNELS. Everything is forced inline:
// an out-of-line copy could be merged by the linker with one for another target.
//
// Targets with fused multiply-add give the same bits whatever their vectors hold: sums over a row
// have eight chains (Chains), all others are made lane by lane.

#include <cstdint>
#include <cstring>
#ifdef __FMA__
#include <immintrin.h>
#endif

#ifndef PHYSARUM_KERNELS
#error "define PHYSARUM_KERNELS as the namespace of the target"
#endif
#define PHYSARUM_INLINE inline __attribute__((always_inline))
#define PHYSARUM_INLINE_LAMBDA __attribute__((always_inline))

namespace physarum::model::PHYSARUM_KERNELS {

using Float8 = float __attribute__((vector_size(32)));
#ifdef __AVX512F__
using Floats = float __attribute__((vector_size(64)));
using Ints = std::int32_t __attribute__((vector_size(64)));
#else
using Floats = Float8;
using Ints = std::int32_t __attribute__((vector_size(32)));
#endif
constexpr std::int64_t lanes = sizeof(Floats) / sizeof(float);

template <class V = Floats>
PHYSARUM_INLINE V splat(float value) {
  return value - V{};
}

template <class V = Floats>
PHYSARUM_INLINE V load(const float* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class V>
PHYSARUM_INLINE void store(float* to, V v) {
  std::memcpy(to, &v, sizeof v);
}

/// a * b + c, rounded once where the target can: said by name, so that no compiler decides it
/// differently for loops of different forms.
PHYSARUM_INLINE Float8 multiply_add(Float8 a, Float8 b, Float8 c) {
#ifdef __FMA__
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}
#ifdef __AVX512F__
PHYSARUM_INLINE Floats multiply_add(Floats a, Floats b, Floats c) {
  return _mm512_fmadd_ps(a, b, c);
}
#endif

/// The first `count` (< lanes) lanes from memory, the others `fill`.
PHYSARUM_INLINE Floats load_some(const float* from, std::int64_t count, float fill) {
#ifdef __AVX512F__
  return _mm512_mask_loadu_ps(splat(fill), static_cast<__mmask16>((1U << count) - 1), from);
#else
  Floats v = splat(fill);
  for (std::int64_t i = 0; i < count; ++i) v[i] = from[i];
  return v;
#endif
}

PHYSARUM_INLINE void store_some(float* to, std::int64_t count, Floats v) {
#ifdef __AVX512F__
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1U << count) - 1), v);
#else
  for (std::int64_t i = 0; i < count; ++i) to[i] = v[i];
#endif
}

/// A whole vector, or at the end of a row what is left of it.
PHYSARUM_INLINE Floats load_up_to(const float* from, std::int64_t count, float fill = 0.0F) {
  return count == lanes ? load(from) : load_some(from, count, fill);
}

PHYSARUM_INLINE void store_up_to(float* to, std::int64_t count, Floats v) {
  if (count == lanes) {
    store(to, v);
  } else {
    store_some(to, count, v);
  }
}

/// Calls body(i, count) for the vectors of a row: count is `lanes`, at the end of the row what is
/// left.
template <class Body>
PHYSARUM_INLINE void for_row(std::int64_t width, Body body) {
  std::int64_t i = 0;
  for (; i + lanes <= width; i += lanes) body(i, lanes);
  if (i < width) body(i, width - i);
}

/// Lanes below `count` from v, the others `fill`; `count` may be negative or beyond `lanes`.
PHYSARUM_INLINE Floats keep_first(Floats v, std::int64_t count, float fill) {
  const std::int64_t bound = count < 0 ? 0 : (count > lanes ? lanes : count);
#ifdef __AVX512F__
  return _mm512_mask_mov_ps(splat(fill), static_cast<__mmask16>((1U << bound) - 1), v);
#else
  const Ints index{0, 1, 2, 3, 4, 5, 6, 7};
  return index < static_cast<std::int32_t>(bound) - Ints{} ? v : splat(fill);
#endif
}

/// If one side is not a number, the result is the second argument: give the constant first, and
/// what is not a number stays visible.
PHYSARUM_INLINE Floats max(Floats a, Floats b) { return a > b ? a : b; }
PHYSARUM_INLINE Floats min(Floats a, Floats b) { return a < b ? a : b; }

PHYSARUM_INLINE float max_of(Floats v) {
  float best = v[0];
  for (std::int64_t i = 1; i < lanes; ++i) best = v[i] > best ? v[i] : best;
  return best;
}

/// The sum of a row in eight chains, the i-th over the elements i, i + 8, i + 16 ...
class Chains {
 public:
  PHYSARUM_INLINE void add(Floats v) {
#ifdef __AVX512F__
    sums_ = sums_ + low(v) + high(v);
#else
    sums_ += v;
#endif
  }
  /// Rounded once where the target can.
  PHYSARUM_INLINE void add_product(Floats a, Floats b) {
#ifdef __AVX512F__
    sums_ = multiply_add(high(a), high(b), multiply_add(low(a), low(b), sums_));
#else
    sums_ = multiply_add(a, b, sums_);
#endif
  }
  /// Always the same tree.
  [[nodiscard]] PHYSARUM_INLINE float total() const {
    const Float8 v = sums_;
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
  }

 private:
#ifdef __AVX512F__
  PHYSARUM_INLINE static Float8 low(Floats v) {
    return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  PHYSARUM_INLINE static Float8 high(Floats v) {
    return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  }
#endif
  Float8 sums_{};
};

/// e^x within 2 units in the last place on [-87.3, 88.3]; below it 0, above it the value at 88.3.
/// Range reduction by ln 2 in two parts, then a polynomial (Cephes' expf) and a shift of the
/// exponent.
PHYSARUM_INLINE Floats exp(Floats x) {
  const Floats lowest = splat(-87.33654F);
  const Floats clamped = min(splat(88.3F), max(lowest, x));
  const Floats magic = splat(12582912.0F);  // 1.5 * 2^23: adding it rounds to an integer
  const Floats shifted = multiply_add(clamped, splat(1.44269504F), magic);
  const Floats n = shifted - magic;
  const Floats reduced =
      multiply_add(n, splat(2.12194440e-4F), multiply_add(n, splat(-0.693359375F), clamped));
  Floats p = splat(1.9875691500e-4F);
  p = multiply_add(p, reduced, splat(1.3981999507e-3F));
  p = multiply_add(p, reduced, splat(8.3334519073e-3F));
  p = multiply_add(p, reduced, splat(4.1665795894e-2F));
  p = multiply_add(p, reduced, splat(1.6666665459e-1F));
  p = multiply_add(p, reduced, splat(5.0000001201e-1F));
  p = multiply_add(p, reduced * reduced, reduced) + splat(1.0F);
  Ints bits;
  Ints magic_bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  std::memcpy(&magic_bits, &magic, sizeof bits);
  const Ints exponent = (bits - magic_bits + 127) << 23;
  Floats scale;
  std::memcpy(&scale, &exponent, sizeof scale);
  return x < lowest ? splat(0.0F) : p * scale;
}

}  // namespace physarum::model::PHYSARUM_KERNELS
