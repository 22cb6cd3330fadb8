#pragma once

#include <bit>
#include <cstdint>

namespace physarum::model {

/// IEEE binary16 to fp32, exact.
[[nodiscard]] constexpr float float_from_f16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  }
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;  // zero and denormals
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace physarum::model
