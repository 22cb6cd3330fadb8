#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace physarum::weights {

/// Rounds fp32 values to bf16, one after the other.
using NarrowFloats = void (*)(const float* from, std::size_t count, std::byte* to);
/// Compiled for AVX2; nullptr if this processor cannot run it.
[[nodiscard]] NarrowFloats narrow_floats_avx2();

// What follows is compiled once for each target, and static, so that nothing that is compiled for
// one is called from another.

/// The upper half of the rounded bits. Without branches, so that the loops over it vectorise.
static inline std::uint32_t round_bits(std::uint32_t bits) {
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  // Rounding could carry a NaN's payload into infinity or over the sign: keep its upper half and
  // set the quiet bit, which also stands for a payload that lay in the lower half only.
  const std::uint32_t quiet = bits | 0x00400000U;
  const bool not_a_number = (bits & 0x7fffffffU) > 0x7f800000U;
  return (not_a_number ? quiet : rounded) >> 16;
}

static inline void narrow_floats(const float* from, std::size_t count, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, from + i, 4);
    const auto upper = static_cast<std::uint16_t>(round_bits(bits));
    std::memcpy(to + 2 * i, &upper, 2);
  }
}

}  // namespace physarum::weights
