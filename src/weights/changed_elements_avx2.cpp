#include "changed_elements.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace physarum::weights {

#if defined(__AVX2__)

namespace {

template <std::size_t Width>
__m256i same_elements_avx2(const std::byte* before, const std::byte* after, std::size_t vector) {
  const __m256i was = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(before) + vector);
  const __m256i is = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(after) + vector);
  return Width == 2 ? _mm256_cmpeq_epi16(was, is) : _mm256_cmpeq_epi32(was, is);
}

/// Packing works in halves of 16 bytes; this puts their quarters into order.
__m256i in_order(__m256i packed) { return _mm256_permute4x64_epi64(packed, 0xd8); }

/// Of 32 elements; saturation keeps 0 and -1 what they are.
template <std::size_t Width>
std::uint32_t same_32(const std::byte* before, const std::byte* after, std::size_t piece) {
  __m256i low, high;
  if constexpr (Width == 2) {
    low = same_elements_avx2<2>(before, after, 2 * piece);
    high = same_elements_avx2<2>(before, after, 2 * piece + 1);
  } else {
    low = in_order(_mm256_packs_epi32(same_elements_avx2<4>(before, after, 4 * piece),
                                      same_elements_avx2<4>(before, after, 4 * piece + 1)));
    high = in_order(_mm256_packs_epi32(same_elements_avx2<4>(before, after, 4 * piece + 2),
                                       same_elements_avx2<4>(before, after, 4 * piece + 3)));
  }
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(in_order(_mm256_packs_epi16(low, high))));
}

template <std::size_t Width>
std::uint64_t group_mask_avx2(const std::byte* before, const std::byte* after) {
  return ~(std::uint64_t{same_32<Width>(before, after, 0)} |
           std::uint64_t{same_32<Width>(before, after, 1)} << 32);
}

/// round_bits() of eight values, in the upper halves.
__m256i rounded_8(const float* values) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x00400000));
  const __m256 value = _mm256_castsi256_ps(bits);
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_and_si256(_mm256_blendv_epi8(up, quiet, nan),
                          _mm256_set1_epi32(static_cast<int>(0xffff0000U)));
}

std::uint64_t moved_mask_avx2(const float* rounded, const float* values) {
  std::uint64_t same = 0;
  for (unsigned i = 0; i < 64; i += 8) {
    const __m256i was = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rounded + i));
    const __m256i equal = _mm256_cmpeq_epi32(was, rounded_8(values + i));
    const auto bits = static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(equal)));
    same |= std::uint64_t{bits} << i;
  }
  return ~same;
}

}  // namespace

FindChanged find_changed_avx2(std::size_t width) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("popcnt")) return nullptr;
  return width == 2 ? &find_in_groups<2, group_mask_avx2<2>>
                    : &find_in_groups<4, group_mask_avx2<4>>;
}

FindMoved find_moved_avx2() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("popcnt")) return nullptr;
  return &find_moved_in_groups<moved_mask_avx2>;
}

#else

FindMoved find_moved_avx2() { return nullptr; }

FindChanged find_changed_avx2(std::size_t) { return nullptr; }

#endif

}  // namespace physarum::weights
