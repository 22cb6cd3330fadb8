#include "physarum/weights/convert.hpp"

#include <bit>
#include <cstring>

#include "physarum/base/contracts.hpp"

#include "narrow_floats.hpp"

namespace physarum::weights {
namespace {

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
  const NarrowFloats avx2 = narrow_floats_avx2();
  (avx2 != nullptr ? avx2 : &narrow_floats)(values.data(), values.size(), image.data());
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
