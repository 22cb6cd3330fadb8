#include "physarum/weights/convert.hpp"

#include <bit>
#include <cstring>

#include "physarum/base/contracts.hpp"

namespace physarum::weights {
namespace {

constexpr std::uint32_t sign_off = 0x7fffffffU;
constexpr std::uint32_t infinity = 0x7f800000U;

/// Without branches, so that the loops over it vectorise.
inline std::uint32_t round_bits(std::uint32_t bits) {
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  // Rounding could carry a NaN's payload into infinity or over the sign: keep its upper half and
  // set the quiet bit, which also stands for a payload that lay in the lower half only.
  const std::uint32_t quiet = bits | 0x00400000U;
  return ((bits & sign_off) > infinity ? quiet : rounded) >> 16;
}

inline float round_float(float value) {
  return std::bit_cast<float>(round_bits(std::bit_cast<std::uint32_t>(value)) << 16);
}

void check_sizes(std::size_t values, TransferType type, std::size_t image) {
  base::expects(values * static_cast<std::size_t>(element_bytes(type)) == image,
                "the image bytes hold exactly the values");
}

}  // namespace

std::uint16_t bf16_from_float(float value) {
  return static_cast<std::uint16_t>(round_bits(std::bit_cast<std::uint32_t>(value)));
}

float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

void to_transfer(std::span<const float> values, TransferType type, std::span<std::byte> image) {
  check_sizes(values.size(), type, image.size());
  if (values.empty()) return;
  if (type == TransferType::f32) {
    std::memcpy(image.data(), values.data(), image.size());
    return;
  }
  const float* from = values.data();
  std::byte* to = image.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = bf16_from_float(from[i]);
    std::memcpy(to + 2 * i, &bits, 2);
  }
}

void from_transfer(std::span<const std::byte> image, TransferType type, std::span<float> values) {
  check_sizes(values.size(), type, image.size());
  if (values.empty()) return;
  if (type == TransferType::f32) {
    std::memcpy(values.data(), image.data(), image.size());
    return;
  }
  const std::byte* from = image.data();
  float* to = values.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, from + 2 * i, 2);
    to[i] = float_from_bf16(bits);
  }
}

void round_to_transfer(std::span<float> values, TransferType type) {
  if (type == TransferType::f32) return;
  for (float& value : values) value = round_float(value);
}

void round_to_transfer(std::span<const float> from, TransferType type, std::span<float> values) {
  base::expects(from.size() == values.size(), "as many values as there are");
  if (values.empty()) return;
  if (type == TransferType::f32) {
    std::memcpy(values.data(), from.data(), from.size_bytes());
    return;
  }
  const float* __restrict source = from.data();
  float* __restrict target = values.data();
  for (std::size_t i = 0; i < values.size(); ++i) target[i] = round_float(source[i]);
}

}  // namespace physarum::weights
