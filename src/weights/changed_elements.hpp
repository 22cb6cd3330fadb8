#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace physarum::weights {

/// Elements that are compared at a time.
template <class Element>
inline constexpr std::size_t changed_step = 64 / sizeof(Element);

/// One bit for each of `changed_step` elements whose bits differ, the first in the lowest; both
/// sides 64 bytes.
template <class Element>
[[nodiscard]] std::uint32_t changed_mask(const std::byte* before, const std::byte* after) {
#if defined(__SSE2__)
  __m128i same[4];
  for (int i = 0; i < 4; ++i) {
    const __m128i was = _mm_loadu_si128(reinterpret_cast<const __m128i*>(before) + i);
    const __m128i is = _mm_loadu_si128(reinterpret_cast<const __m128i*>(after) + i);
    same[i] = sizeof(Element) == 2 ? _mm_cmpeq_epi16(was, is) : _mm_cmpeq_epi32(was, is);
  }
  // Saturation keeps 0 and -1 what they are.
  if constexpr (sizeof(Element) == 2) {
    const auto low = _mm_movemask_epi8(_mm_packs_epi16(same[0], same[1]));
    const auto high = _mm_movemask_epi8(_mm_packs_epi16(same[2], same[3]));
    return ~(static_cast<std::uint32_t>(low) | static_cast<std::uint32_t>(high) << 16);
  } else {
    const __m128i packed =
        _mm_packs_epi16(_mm_packs_epi32(same[0], same[1]), _mm_packs_epi32(same[2], same[3]));
    return ~static_cast<std::uint32_t>(_mm_movemask_epi8(packed)) & 0xffffU;
  }
#else
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < changed_step<Element>; ++i) {
    const bool differs = std::memcmp(before + i * sizeof(Element), after + i * sizeof(Element),
                                     sizeof(Element)) != 0;
    mask |= static_cast<std::uint32_t>(differs) << i;
  }
  return mask;
#endif
}

/// Calls found(position, was, is) for each of the elements that differ, in order.
template <class Element, class Found>
void for_changed(const std::byte* before, const std::byte* after, std::size_t elements,
                 const Found& found) {
  constexpr std::size_t step = changed_step<Element>;
  const auto report = [&](std::size_t i) {
    Element was;
    Element is;
    std::memcpy(&was, before + i * sizeof(Element), sizeof(Element));
    std::memcpy(&is, after + i * sizeof(Element), sizeof(Element));
    if (was != is) found(static_cast<std::uint32_t>(i), was, is);
  };
  std::size_t i = 0;
  for (; i + step <= elements; i += step) {
    auto mask = changed_mask<Element>(before + i * sizeof(Element), after + i * sizeof(Element));
    for (; mask != 0; mask &= mask - 1) {
      report(i + static_cast<std::size_t>(std::countr_zero(mask)));
    }
  }
  for (; i < elements; ++i) report(i);
}

}  // namespace physarum::weights
