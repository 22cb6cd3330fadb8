#include "changed_elements.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace physarum::weights {
namespace {

#if defined(__SSE2__)

template <std::size_t Width>
__m128i same_elements(const std::byte* before, const std::byte* after, std::size_t vector) {
  const __m128i was = _mm_loadu_si128(reinterpret_cast<const __m128i*>(before) + vector);
  const __m128i is = _mm_loadu_si128(reinterpret_cast<const __m128i*>(after) + vector);
  return Width == 2 ? _mm_cmpeq_epi16(was, is) : _mm_cmpeq_epi32(was, is);
}

/// Of 16 elements; saturation keeps 0 and -1 what they are.
template <std::size_t Width>
std::uint64_t same_16(const std::byte* before, const std::byte* after, std::size_t piece) {
  __m128i low, high;
  if constexpr (Width == 2) {
    low = same_elements<2>(before, after, 2 * piece);
    high = same_elements<2>(before, after, 2 * piece + 1);
  } else {
    low = _mm_packs_epi32(same_elements<4>(before, after, 4 * piece),
                          same_elements<4>(before, after, 4 * piece + 1));
    high = _mm_packs_epi32(same_elements<4>(before, after, 4 * piece + 2),
                           same_elements<4>(before, after, 4 * piece + 3));
  }
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
}

template <std::size_t Width>
std::uint64_t group_mask(const std::byte* before, const std::byte* after) {
  return ~(same_16<Width>(before, after, 0) | same_16<Width>(before, after, 1) << 16 |
           same_16<Width>(before, after, 2) << 32 | same_16<Width>(before, after, 3) << 48);
}

#else

template <std::size_t Width>
std::uint64_t group_mask(const std::byte* before, const std::byte* after) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    const bool differs = std::memcmp(before + i * Width, after + i * Width, Width) != 0;
    mask |= static_cast<std::uint64_t>(differs) << i;
  }
  return mask;
}

#endif

std::uint64_t moved_mask(const float* rounded, const float* values) {
  alignas(64) std::byte before[128], after[128];
  narrow_floats(rounded, 64, before);
  narrow_floats(values, 64, after);
  return group_mask<2>(before, after);
}

}  // namespace

FindChanged find_changed_baseline(std::size_t width) {
  return width == 2 ? &find_in_groups<2, group_mask<2>> : &find_in_groups<4, group_mask<4>>;
}

FindMoved find_moved_baseline() { return &find_moved_in_groups<moved_mask>; }

FindMoved find_moved() {
  if (const FindMoved avx512 = find_moved_avx512()) return avx512;
  const FindMoved avx2 = find_moved_avx2();
  return avx2 != nullptr ? avx2 : find_moved_baseline();
}

FindChanged find_changed(std::size_t width) {
  const FindChanged avx2 = find_changed_avx2(width);
  return avx2 != nullptr ? avx2 : find_changed_baseline(width);
}

}  // namespace physarum::weights
