#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "narrow_floats.hpp"

namespace physarum::weights {

/// Writes the positions of the elements whose bits differ, ascending, and returns how many they
/// are. Both sides hold `elements` elements; `positions` has room for position_slack more than
/// that.
using FindChanged = std::size_t (*)(const std::byte* before, const std::byte* after,
                                    std::size_t elements, std::uint32_t* positions);
inline constexpr std::size_t position_slack = 4;
/// The same, with fp32 values that were rounded to bf16 before, and ones that are to be rounded
/// after.
using FindMoved = std::size_t (*)(const float* rounded, const float* values, std::size_t elements,
                                  std::uint32_t* positions);

/// The fastest one that this processor can run, for elements of so many bytes: 2 or 4.
[[nodiscard]] FindChanged find_changed(std::size_t width);
/// The single ones; nullptr if this processor cannot run it.
[[nodiscard]] FindChanged find_changed_baseline(std::size_t width);
[[nodiscard]] FindChanged find_changed_avx2(std::size_t width);
[[nodiscard]] FindMoved find_moved();
[[nodiscard]] FindMoved find_moved_baseline();
[[nodiscard]] FindMoved find_moved_avx2();
[[nodiscard]] FindMoved find_moved_avx512();

/// How far ahead of the comparison memory is asked for.
inline constexpr std::size_t bytes_ahead = 8192;

// What follows is compiled once for each target, and static, so that nothing that is compiled for
// one is called from another.

static inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// One bit for each of 64 elements, the first in the lowest.
using GroupMask = std::uint64_t (*)(const std::byte* before, const std::byte* after);

/// Changes are few, and where they are cannot be foreseen: four positions are written whether there
/// are so many or not, and only more than these cost a branch that is guessed wrong.
static inline std::size_t append_positions(std::uint64_t mask, std::size_t first,
                                           std::uint32_t* positions) {
  const auto count = static_cast<std::size_t>(__builtin_popcountll(mask));
  for (std::size_t done = 0;;) {
    for (std::size_t i = 0; i < 4; ++i) {
      // The bit keeps the count of zeros defined when there is no other; what is then written is
      // beyond the count.
      const int zeros = __builtin_ctzll(mask | std::uint64_t{1} << 63);
      positions[done + i] = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(zeros);
      mask &= mask - 1;
    }
    done += 4;
    if (done >= count) return count;
  }
}

template <std::size_t Width, GroupMask Mask>
static std::size_t find_in_groups(const std::byte* before, const std::byte* after,
                                  std::size_t elements, std::uint32_t* positions) {
  constexpr std::size_t group = 64;
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + group <= elements; i += group) {
    // What comes next is fetched meanwhile, beyond the ends of pages too. Asking for memory that is
    // not there does no harm.
    for (std::size_t line = 0; line < group * Width; line += 64) {
      __builtin_prefetch(before + i * Width + line + bytes_ahead);
      __builtin_prefetch(after + i * Width + line + bytes_ahead);
    }
    count += append_positions(Mask(before + i * Width, after + i * Width), i, positions + count);
  }
  for (; i < elements; ++i) {
    if (std::memcmp(before + i * Width, after + i * Width, Width) == 0) continue;
    positions[count++] = static_cast<std::uint32_t>(i);
  }
  return count;
}

/// One bit for each of 64 values.
using MovedMask = std::uint64_t (*)(const float* rounded, const float* values);

template <MovedMask Mask>
static std::size_t find_moved_in_groups(const float* rounded, const float* values,
                                        std::size_t elements, std::uint32_t* positions) {
  constexpr std::size_t group = 64;
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + group <= elements; i += group) {
    // The values have just been made; what they are compared with has not been looked at.
    for (std::size_t line = 0; line < group; line += 16) {
      __builtin_prefetch(reinterpret_cast<const std::byte*>(rounded + i + line) + bytes_ahead);
    }
    count += append_positions(Mask(rounded + i, values + i), i, positions + count);
  }
  for (; i < elements; ++i) {
    if (bits_of(rounded[i]) == round_bits(bits_of(values[i])) << 16) continue;
    positions[count++] = static_cast<std::uint32_t>(i);
  }
  return count;
}

}  // namespace physarum::weights
