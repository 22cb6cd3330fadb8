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

/// The second state, as it is.
template <class Element>
struct BytesAfter {
  const std::byte* bytes;
  FindChanged find = find_changed(sizeof(Element));
  [[nodiscard]] std::size_t found(const std::byte* before, std::size_t first, std::size_t elements,
                                  std::uint32_t* positions) const {
    return find(before + first * sizeof(Element), bytes + first * sizeof(Element), elements,
                positions);
  }
  [[nodiscard]] Element at(std::size_t position) const {
    Element is;
    std::memcpy(&is, bytes + position * sizeof is, sizeof is);
    return is;
  }
};

/// The second state as values that are rounded on the way.
struct ValuesAfter {
  const float* values;
  FindMoved find = find_moved();
  [[nodiscard]] std::size_t found(const std::byte* before, std::size_t first, std::size_t elements,
                                  std::uint32_t* positions) const {
    return find(before + 2 * first, values + first, elements, positions);
  }
  [[nodiscard]] std::uint16_t at(std::size_t position) const {
    return static_cast<std::uint16_t>(round_bits(std::bit_cast<std::uint32_t>(values[position])));
  }
};

template <class Element, class After, class Sums>
void find_changes_of(const FrameStates& states, const After& after, const Sums& note,
                     Changes& changes) {
  std::uint32_t positions[elements_at_once + position_slack];
  // Two counters each: the next change mostly has the same distance, and would wait for one.
  std::array<std::array<std::uint32_t, 33>, 2> with_distance_bits{};
  Change* to = changes.all.data();
  for (std::size_t first = 0; first < states.elements; first += elements_at_once) {
    const std::size_t found = after.found(
        states.before, first, std::min(elements_at_once, states.elements - first), positions);
    for (std::size_t i = 0; i < found; ++i) {
      const std::size_t position = first + positions[i];
      Element was;
      std::memcpy(&was, states.before + position * sizeof(Element), sizeof was);
      const Element is = after.at(position);
      const auto up = static_cast<Element>(is - was);
      const auto down = static_cast<Element>(was - is);
      const auto bits = static_cast<std::uint32_t>(std::bit_width(std::min(up, down)));
      *to++ = {static_cast<std::uint32_t>(position), is, bits};
      note(position, was, is);
      if (states.write_back != nullptr) {
        std::memcpy(states.write_back + position * sizeof(Element), &is, sizeof is);
      }
      ++with_distance_bits[i % 2][bits];
    }
  }
  changes.count = static_cast<std::size_t>(to - changes.all.data());
  for (std::size_t bits = 0; bits < changes.with_distance_bits.size(); ++bits) {
    changes.with_distance_bits[bits] = with_distance_bits[0][bits] + with_distance_bits[1][bits];
  }
}

template <class Element, class After>
void find_and_note(const FrameStates& states, const After& after, Changes& changes) {
  if (states.digests.empty()) return find_changes_of<Element>(states, after, NoSums{}, changes);
  find_changes_of<Element>(states, after, ChangedSums<Element>(states.digests, 0), changes);
}

}  // namespace

void find_changes(const FrameStates& states, std::size_t width, Changes& changes) {
  if (states.values != nullptr) {
    find_and_note<std::uint16_t>(states, ValuesAfter{states.values}, changes);
  } else if (width == 2) {
    find_and_note<std::uint16_t>(states, BytesAfter<std::uint16_t>{states.after}, changes);
  } else {
    find_and_note<std::uint32_t>(states, BytesAfter<std::uint32_t>{states.after}, changes);
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
