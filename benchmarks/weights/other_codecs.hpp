#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Sizes in bytes of the difference of two bf16 images as others send it.
struct OtherSizes {
  std::size_t position_and_value = 0;  ///< int32 and the new value for each change
  std::size_t xor_zstd = 0;            ///< both images combined by exclusive or, zstd level 1
  std::size_t bitmask = 0;             ///< a bit for each element, then the new values
};

[[nodiscard]] OtherSizes other_sizes(std::span<const std::uint16_t> before,
                                     std::span<const std::uint16_t> after);
