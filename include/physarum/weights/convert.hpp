#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "physarum/weights/catalogue.hpp"

namespace physarum::weights {

/// Round to nearest, ties to even; overflow becomes infinity; NaN stays NaN (quiet, sign and the
/// upper payload kept); -0 and denormals survive.
[[nodiscard]] std::uint16_t bf16_from_float(float value);
/// Exact.
[[nodiscard]] float float_from_bf16(std::uint16_t bits);

/// Writes `values` as elements of `type` into `image` (values.size() * element_bytes(type) bytes).
/// Any thread; the loops vectorise.
void to_transfer(std::span<const float> values, TransferType type, std::span<std::byte> image);
/// The other direction, exact.
void from_transfer(std::span<const std::byte> image, TransferType type, std::span<float> values);

/// Replaces every value by what an engine will see after transfer: fp32 masters stay with the
/// optimiser, the trainer's forward pass uses these. Nothing to do for f32.
void round_to_transfer(std::span<float> values, TransferType type);
/// The same from other memory of the same size, in one pass.
void round_to_transfer(std::span<const float> from, TransferType type, std::span<float> values);

}  // namespace physarum::weights
