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

inline constexpr std::uint32_t frame_magic = 0x47574850;  // "PHWG"
inline constexpr std::size_t most_planes = 4;
/// Bits of a position in a frame; more low bits than that no gap needs.
inline constexpr unsigned most_low_bits = 19;
static_assert((std::int64_t{1} << most_low_bits) == DeltaEncoder::frame_elements);
inline constexpr unsigned most_residue_bits = 16;

enum class FrameKind : std::uint8_t { sparse = 1, dense = 2 };

/// Changes of one kind in a sparse frame and the length of their gaps. A gap is the count of
/// elements between two changes of the kind, in Golomb-Rice code with low_bits() low bits.
struct GapStream {
  std::uint32_t count;
  std::uint32_t bytes;
};

/// Start of the body. With elements taken as integers, a change is near if it is by less than
/// 2^(residue_bits - 1), and far otherwise: at the learning rates of reinforcement learning most
/// are by one unit in the last place. Payload of a sparse frame:
///   near gaps | the residue_bits lowest bits of each near element's new value | far gaps | one
///   plane for each byte of a far element's new value (lowest first), each a zstd frame, or raw
///   where its wire length equals its raw length.
/// The lowest bits tell the new value to whoever has the old one, or the new one already. Payload
/// of a dense frame: the elements.
struct FrameBody {
  std::int64_t base;
  std::int64_t target;
  std::int64_t first;      // element
  std::uint32_t elements;  // of the range
  GapStream near;
  GapStream far;  // of a dense frame: all changes
  FrameKind kind;
  std::uint8_t element_bytes;
  std::uint8_t residue_bits;  // 0 in a dense frame
  std::uint8_t zero;
  std::uint32_t plane_wire_bytes[most_planes];
};
static_assert(sizeof(FrameBody) == 64, "no padding: every byte goes over the wire");

[[nodiscard]] constexpr std::size_t residue_bytes(const FrameBody& body) {
  return (std::size_t{body.near.count} * body.residue_bits + 7) / 8;
}

/// The low bits of the Golomb-Rice code that make `count` gaps in a frame shortest, but for the
/// roundings of the single gaps.
[[nodiscard]] constexpr unsigned low_bits(std::size_t count, std::size_t elements) {
  unsigned best = 0;
  std::size_t best_bits = SIZE_MAX;
  for (unsigned low = 0; low <= most_low_bits; ++low) {
    const std::size_t bits = count * (low + 1) + (elements >> low);
    if (bits < best_bits) {
      best = low;
      best_bits = bits;
    }
  }
  return best;
}

/// Bits that the gaps of `count` changes take at most: together they are no longer than the frame.
[[nodiscard]] constexpr std::size_t most_gap_bits(std::size_t count, unsigned low,
                                                  std::size_t elements) {
  return count * (low + 1) + (elements >> low);
}

}  // namespace physarum::weights
