#pragma once

#include <cstdint>

#include "physarum/weights/delta_codec.hpp"

namespace physarum::weights {

/// Head of a frame; what follows (body_bytes of them) is under the digest.
struct FrameHead {
  std::uint32_t magic;
  std::uint32_t body_bytes;
  std::uint64_t digest_low;
  std::uint64_t digest_high;
};
static_assert(sizeof(FrameHead) == 24);

inline constexpr std::uint32_t frame_magic = 0x46574850;  // "PHWF"
inline constexpr std::size_t most_planes = 4;
inline constexpr std::size_t most_gap_bytes = 5;  // a LEB128 of 32 bits

enum class FrameKind : std::uint8_t { sparse = 1, dense = 2 };

/// Start of the body. Payload of a sparse frame: the gaps, then one plane for each byte of an
/// element (lowest first), each a zstd frame, or raw where its wire length equals its raw length.
/// A gap is the count of unchanged elements before a changed one, as LEB128. Payload of a dense
/// frame: the elements.
struct FrameBody {
  std::int64_t base;
  std::int64_t target;
  std::int64_t first;      // element
  std::uint32_t elements;  // of the range
  std::uint32_t changed;
  FrameKind kind;
  std::uint8_t element_bytes;
  std::uint16_t zero;
  std::uint32_t gap_raw_bytes;
  std::uint32_t gap_wire_bytes;
  std::uint32_t plane_wire_bytes[most_planes];
  std::uint32_t zero_too;
};
static_assert(sizeof(FrameBody) == 64, "no padding: every byte goes over the wire");

}  // namespace physarum::weights
