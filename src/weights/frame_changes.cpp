#include "frame_changes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "physarum/weights/convert.hpp"

#include "changed_elements.hpp"
#include "keyed_sums.hpp"
#include "store_layout.hpp"

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

/// The second state as values, which are rounded on the way, as many as are compared at a time.
class ValuesAfter {
 public:
  explicit ValuesAfter(const float* values) : values_(values) {}
  [[nodiscard]] std::size_t found(const std::byte* before, std::size_t first, std::size_t elements,
                                  std::uint32_t* positions) {
    first_ = first;
    to_transfer({values_ + first, elements}, TransferType::bf16,
                std::span(rounded_).first(2 * elements));
    return find_(before + 2 * first, rounded_, elements, positions);
  }
  [[nodiscard]] std::uint16_t at(std::size_t position) const {
    std::uint16_t is;
    std::memcpy(&is, rounded_ + 2 * (position - first_), sizeof is);
    return is;
  }

 private:
  const float* values_;
  std::size_t first_ = 0;
  FindChanged find_ = find_changed(2);
  alignas(64) std::byte rounded_[2 * elements_at_once];
};

/// Changes as they are found, with what follows from each.
template <class Element, class Sums>
class Collector {
 public:
  Collector(const Sums& sums, Changes& changes)
      : sums_(sums), changes_(changes), to_(changes.all.data()) {}
  void add(std::size_t position, Element was, Element is) {
    const auto up = static_cast<Element>(is - was);
    const auto down = static_cast<Element>(was - is);
    const auto bits = static_cast<std::uint32_t>(std::bit_width(std::min(up, down)));
    *to_++ = {static_cast<std::uint32_t>(position), is, bits};
    sums_(position, was, is);
    ++with_distance_bits_[position % 2][bits];
  }
  void finish() {
    changes_.count = static_cast<std::size_t>(to_ - changes_.all.data());
    for (std::size_t bits = 0; bits < changes_.with_distance_bits.size(); ++bits) {
      changes_.with_distance_bits[bits] =
          with_distance_bits_[0][bits] + with_distance_bits_[1][bits];
    }
  }

 private:
  Sums sums_;
  Changes& changes_;
  Change* to_;
  // Two counters each: the next change mostly has the same distance, and would wait for one.
  std::array<std::array<std::uint32_t, 33>, 2> with_distance_bits_{};
};

/// Compares elements; the first one has the place `offset`.
template <class Element, class After, class Collect>
void compare(const std::byte* before, After after, std::size_t elements, std::size_t offset,
             Collect& collect) {
  std::uint32_t positions[elements_at_once + position_slack];
  for (std::size_t first = 0; first < elements; first += elements_at_once) {
    const std::size_t found =
        after.found(before, first, std::min(elements_at_once, elements - first), positions);
    for (std::size_t i = 0; i < found; ++i) {
      const std::size_t position = first + positions[i];
      Element was;
      std::memcpy(&was, before + position * sizeof(Element), sizeof was);
      collect.add(offset + position, was, after.at(position));
    }
  }
}

template <class Element>
auto state_of(const float* values) {
  if constexpr (sizeof(Element) == 2) {
    return ValuesAfter{values};
  } else {
    return BytesAfter<Element>{reinterpret_cast<const std::byte*>(values)};
  }
}

/// Block by block: what was noted, or what differs from all that was kept.
template <class Element, class Collect>
void read_notes(const FrameStates& states, Collect& collect) {
  constexpr std::size_t block =
      static_cast<std::size_t>(StoreLayout::block_bytes) / sizeof(Element);
  const BlockNote* note = states.notes;
  for (std::size_t first = 0; first < states.elements; first += block, ++note) {
    if (note->count == BlockNote::dense) {
      compare<Element>(note->memory, state_of<Element>(states.values + first),
                       std::min(block, states.elements - first), first, collect);
      continue;
    }
    const auto* const changes = reinterpret_cast<const NotedChange<Element>*>(note->memory);
    for (const auto& change : std::span(changes, note->count)) {
      // What a later step brought back is no change.
      if (change.was != change.is) collect.add(first + change.position, change.was, change.is);
    }
  }
}

template <class Element, class Sums>
void find_with(const FrameStates& states, const Sums& sums, Changes& changes) {
  Collector<Element, Sums> collect(sums, changes);
  if (states.notes != nullptr) {
    read_notes<Element>(states, collect);
  } else {
    compare<Element>(states.before, BytesAfter<Element>{states.after}, states.elements, 0, collect);
  }
  collect.finish();
}

template <class Element>
void find_in(const FrameStates& states, Changes& changes) {
  if (states.digests.empty()) return find_with<Element>(states, NoSums{}, changes);
  find_with<Element>(states, ChangedSums<Element>(states.digests, 0), changes);
}

}  // namespace

void find_changes(const FrameStates& states, std::size_t width, Changes& changes) {
  width == 2 ? find_in<std::uint16_t>(states, changes) : find_in<std::uint32_t>(states, changes);
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
