#include "frame_changes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "changed_elements.hpp"
#include "keyed_sums.hpp"

namespace physarum::weights {
namespace {

/// Share of a far value's bits that is left of it on the wire, about.
constexpr double far_share = 0.8;

/// Elements that are compared at a time: both sides are then still in the nearest cache when the
/// changed ones are looked at.
constexpr std::size_t elements_at_once = 4096;

template <class Element, class Sums>
void find_changes_of(const std::byte* before, const std::byte* after, std::size_t elements,
                     const Sums& note, Changes& changes) {
  const FindChanged find = find_changed(sizeof(Element));
  std::uint32_t positions[elements_at_once + position_slack];
  // Two counters each: the next change mostly has the same distance, and would wait for one.
  std::array<std::array<std::uint32_t, 33>, 2> with_distance_bits{};
  Change* to = changes.all.data();
  for (std::size_t first = 0; first < elements; first += elements_at_once) {
    const std::size_t found =
        find(before + first * sizeof(Element), after + first * sizeof(Element),
             std::min(elements_at_once, elements - first), positions);
    for (std::size_t i = 0; i < found; ++i) {
      const std::size_t position = first + positions[i];
      Element was, is;
      std::memcpy(&was, before + position * sizeof(Element), sizeof was);
      std::memcpy(&is, after + position * sizeof(Element), sizeof is);
      const auto up = static_cast<Element>(is - was);
      const auto down = static_cast<Element>(was - is);
      const auto bits = static_cast<std::uint32_t>(std::bit_width(std::min(up, down)));
      *to++ = {static_cast<std::uint32_t>(position), is, bits};
      note(position, was, is);
      ++with_distance_bits[i % 2][bits];
    }
  }
  changes.count = static_cast<std::size_t>(to - changes.all.data());
  for (std::size_t bits = 0; bits < changes.with_distance_bits.size(); ++bits) {
    changes.with_distance_bits[bits] = with_distance_bits[0][bits] + with_distance_bits[1][bits];
  }
}

template <class Element>
void find_and_note(const std::byte* before, const std::byte* after, std::size_t elements,
                   std::span<base::Digest> digests, Changes& changes) {
  if (digests.empty()) return find_changes_of<Element>(before, after, elements, NoSums{}, changes);
  const ChangedSums<Element> note(digests, 0);
  find_changes_of<Element>(before, after, elements, note, changes);
}

}  // namespace

void find_changes(const std::byte* before, const std::byte* after, std::size_t elements,
                  std::size_t width, std::span<base::Digest> digests, Changes& changes) {
  if (width == 2) {
    find_and_note<std::uint16_t>(before, after, elements, digests, changes);
  } else {
    find_and_note<std::uint32_t>(before, after, elements, digests, changes);
  }
}

unsigned best_residue_bits(const Changes& changes, std::size_t width) {
  const double far_bits = far_share * 8 * static_cast<double>(width);
  unsigned best = 0;
  double best_cost = 0;
  std::size_t near = 0;
  for (unsigned bits = 2; bits <= std::min<std::size_t>(8 * width, most_residue_bits); ++bits) {
    near += changes.with_distance_bits[bits - 1];
    const double cost =
        static_cast<double>(near) * bits + static_cast<double>(changes.count - near) * far_bits;
    if (best != 0 && cost >= best_cost) continue;
    best = bits;
    best_cost = cost;
  }
  return best;
}

}  // namespace physarum::weights
