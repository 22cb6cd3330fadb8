#pragma once

#include <bit>
#include <cstdint>

namespace physarum::model {

/// IEEE binary16 to fp32, exact. Without branches, so that loops over it vectorise.
[[nodiscard]] constexpr float float_from_f16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  const std::uint32_t shifted = magnitude << 13;
  const auto tiny = std::bit_cast<std::uint32_t>(  // zero and denormals
      static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
  const std::uint32_t normal = shifted + (112U << 23);
  const std::uint32_t special = shifted | 0x7F800000U;
  const std::uint32_t large = magnitude >= 0x7C00U ? special : normal;
  return std::bit_cast<float>(sign | (magnitude < 0x0400U ? tiny : large));
}

/// fp32 to IEEE binary16: to nearest, ties to even; beyond 65519 infinity; NaN stays NaN (quiet,
/// upper payload kept); -0 and denormals survive.
[[nodiscard]] constexpr std::uint16_t f16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (magnitude > 0x7F800000U) {
    half = 0x7E00U | ((magnitude >> 13) & 0x3FFU);
  } else if (magnitude >= 0x477FF000U) {
    half = 0x7C00U;
  } else if (magnitude >= 0x38800000U) {
    const std::uint32_t rounded = magnitude + 0x0FFFU + ((magnitude >> 13) & 1U);
    half = (rounded - (112U << 23)) >> 13;
  } else {
    // Adding 0.5 moves the value's last place to 2^-24, the step of binary16's denormals.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  }
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace physarum::model
