#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/hash.hpp"

#include "physarum/weights/change_log.hpp"

#include "delta_frame.hpp"

namespace physarum::weights {

/// Above this many far changes in a frame the raw elements are sent: the compressor could still win
/// a little, for many times the time.
inline constexpr std::size_t most_far = static_cast<std::size_t>(DeltaEncoder::frame_elements) / 3;

/// An element that changed: where, its new bits, and how many bits |new - old| has.
struct Change {
  std::uint32_t position;
  std::uint32_t value;
  std::uint32_t distance_bits;
};

/// Changed elements of a frame, as they are found, and room for the far ones.
struct Changes {
  std::vector<Change> all = std::vector<Change>(DeltaEncoder::frame_elements);
  std::size_t count = 0;
  std::array<std::size_t, 33> with_distance_bits{};
  std::vector<std::uint32_t> far_positions = std::vector<std::uint32_t>(most_far);
  std::vector<std::byte> planes[most_planes];
};

/// Two states of a frame's elements: both as bytes, or the second as values and what was noted of
/// each block on the way to them.
struct FrameStates {
  const std::byte* before = nullptr;
  const std::byte* after = nullptr;
  const float* values = nullptr;
  const BlockNote* notes = nullptr;
  std::span<base::Digest> digests{};  ///< of the blocks before, to become those after; may be none
  std::size_t elements = 0;
};

/// Finds what differs, in elements of `width` bytes.
void find_changes(const FrameStates& states, std::size_t width, Changes& changes);

/// The residue bits for which near and far values together are shortest.
[[nodiscard]] unsigned best_residue_bits(const Changes& changes, std::size_t width);

}  // namespace physarum::weights
