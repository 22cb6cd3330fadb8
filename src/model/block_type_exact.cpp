// Compiled without contraction of products and sums (see cmake/room.cmake): the values are defined
// with each of them rounded.
#include <algorithm>
#include <array>
#include <cstring>

#include "physarum/base/contracts.hpp"

#include "physarum/weights/convert.hpp"

#include "physarum/model/block_type.hpp"

#include "half.hpp"

namespace physarum::model {

namespace {

constexpr std::array<BlockForm, 8> forms{{{"F32", 1, 4},
                                          {"F16", 1, 2},
                                          {"BF16", 1, 2},
                                          {"Q8_0", 32, 34},
                                          {"Q4_0", 32, 18},
                                          {"Q4_1", 32, 20},
                                          {"Q4_K", 256, 144},
                                          {"Q6_K", 256, 210}}};
constexpr std::int64_t most_block_elements = 256;

float half_at(const std::byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return float_from_f16(bits);
}

int low(std::byte two) { return static_cast<int>(two & std::byte{0x0F}); }
int high(std::byte two) { return static_cast<int>(two >> 4); }

/// Scale (f16), 32 signed bytes.
void decode_q8_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i) {
    out[i] = static_cast<float>(static_cast<std::int8_t>(block[2 + i])) * scale;
  }
}

/// Scale (f16), 16 bytes: the low halves are the first 16 elements, the high halves the others; 8
/// stands for 0.
void decode_q4_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low(block[2 + i]) - 8);
    out[16 + i] = scale * static_cast<float>(high(block[2 + i]) - 8);
  }
}

/// Scale and minimum (f16), 16 bytes as in Q4_0.
void decode_q4_1(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low(block[4 + i])) + minimum;
    out[16 + i] = scale * static_cast<float>(high(block[4 + i])) + minimum;
  }
}

/// The 6-bit scale and minimum of the eight parts of a Q4_K block. `packed`: 12 bytes; parts 4 to 7
/// have their upper two bits in the bytes of parts 0 to 3.
struct PartScale {
  int scale;
  int minimum;
};
PartScale part_scale(const std::byte* packed, int part) {
  const auto byte = [&](int i) { return static_cast<int>(packed[i]); };
  if (part < 4) return {byte(part) & 0x3F, byte(part + 4) & 0x3F};
  const int i = part - 4;
  return {(byte(8 + i) & 0x0F) | ((byte(i) >> 2) & 0x30),
          (byte(8 + i) >> 4) | ((byte(4 + i) >> 2) & 0x30)};
}

/// Scale of scales and of minima (f16), 12 bytes of part_scale(), 128 bytes: 32 hold the low and
/// high halves of two neighbouring parts.
void decode_q4_k(const std::byte* block, float* out) {
  const float scales = half_at(block);
  const float minima = half_at(block + 2);
  for (int part = 0; part < 8; ++part) {
    const auto [scale, minimum] = part_scale(block + 4, part);
    const float by = scales * static_cast<float>(scale);
    const float less = minima * static_cast<float>(minimum);
    const std::byte* from = block + 16 + 32 * (part / 2);
    float* to = out + 32 * part;
    for (int i = 0; i < 32; ++i) {
      const int value = part % 2 == 0 ? low(from[i]) : high(from[i]);
      to[i] = by * static_cast<float>(value) - less;
    }
  }
}

/// 128 bytes of lower four bits, 64 of upper two, 16 signed scales, scale of scales (f16). Each
/// half of a block has four rows of 32 elements; 32 stands for 0.
void decode_q6_k(const std::byte* block, float* out) {
  const float scales = half_at(block + 208);
  for (int row = 0; row < 8; ++row) {
    const int half = row / 4;
    const int quarter = row % 4;
    const std::byte* lower = block + 64 * half + 32 * (quarter % 2);
    const std::byte* upper = block + 128 + 32 * half;
    for (int i = 0; i < 32; ++i) {
      const int bits = quarter < 2 ? low(lower[i]) : high(lower[i]);
      const int top = (static_cast<int>(upper[i]) >> (2 * quarter)) & 3;
      const auto scale = static_cast<std::int8_t>(block[192 + 2 * row + i / 16]);
      const float by = scales * static_cast<float>(scale);
      out[32 * row + i] = by * static_cast<float>((bits | (top << 4)) - 32);
    }
  }
}

using DecodeBlock = void (*)(const std::byte* block, float* out);
DecodeBlock decoder_of(BlockType type) {
  switch (type) {
    case BlockType::q8_0:
      return &decode_q8_0;
    case BlockType::q4_0:
      return &decode_q4_0;
    case BlockType::q4_1:
      return &decode_q4_1;
    case BlockType::q4_k:
      return &decode_q4_k;
    case BlockType::q6_k:
      return &decode_q6_k;
    default:
      return nullptr;
  }
}

void decode_f16(std::span<const std::byte> raw, std::span<float> out) {
  const std::byte* from = raw.data();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = half_at(from + 2 * i);
}

}  // namespace

const BlockForm& block_form(BlockType type) { return forms[static_cast<std::size_t>(type)]; }

void decode_blocks(BlockType type, std::span<const std::byte> blocks, std::span<float> out) {
  const auto& form = block_form(type);
  const auto elements = static_cast<std::size_t>(form.elements);
  const auto bytes = static_cast<std::size_t>(form.bytes);
  base::expects(out.size() % elements == 0 && blocks.size() == out.size() / elements * bytes,
                "the bytes are the blocks of the elements");
  if (type == BlockType::f32) {
    return weights::from_transfer(blocks, weights::TransferType::f32, out);
  }
  if (type == BlockType::bf16) {
    return weights::from_transfer(blocks, weights::TransferType::bf16, out);
  }
  if (type == BlockType::f16) return decode_f16(blocks, out);
  const DecodeBlock decode = decoder_of(type);
  for (std::size_t i = 0; i < out.size() / elements; ++i) {
    decode(blocks.data() + i * bytes, out.data() + i * elements);
  }
}

void decode_range(BlockType type, std::span<const std::byte> tensor, std::int64_t first,
                  std::span<float> out) {
  const auto& form = block_form(type);
  const auto bytes_of = [&](std::int64_t block, std::int64_t blocks) {
    return tensor.subspan(static_cast<std::size_t>(block * form.bytes),
                          static_cast<std::size_t>(blocks * form.bytes));
  };
  while (!out.empty()) {
    const std::int64_t block = first / form.elements;
    const std::int64_t inside = first % form.elements;
    const std::int64_t whole = static_cast<std::int64_t>(out.size()) / form.elements;
    std::int64_t done = whole * form.elements;
    if (inside == 0 && whole > 0) {
      decode_blocks(type, bytes_of(block, whole), out.first(static_cast<std::size_t>(done)));
    } else {  // a part of one block
      std::array<float, most_block_elements> values{};
      decode_blocks(type, bytes_of(block, 1),
                    std::span(values).first(static_cast<std::size_t>(form.elements)));
      done = std::min(form.elements - inside, static_cast<std::int64_t>(out.size()));
      std::copy_n(values.begin() + inside, done, out.begin());
    }
    out = out.subspan(static_cast<std::size_t>(done));
    first += done;
  }
}

}  // namespace physarum::model
