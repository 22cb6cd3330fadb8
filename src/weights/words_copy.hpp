#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "physarum/weights/delta_codec.hpp"

#include "store_words.hpp"

namespace physarum::weights {

/// A delta in the ring.
struct DeltaPlace {
  std::int64_t entry = 0;
  DeltaStep step;
  friend bool operator==(const DeltaPlace&, const DeltaPlace&) = default;
};
using DeltaChain = std::vector<DeltaPlace>;

/// The words of one buffer rank, as read at one time.
class WordsCopy {
 public:
  explicit WordsCopy(std::int64_t ring)
      : words_(static_cast<std::size_t>(StoreWords::count(ring))), ring_(ring) {}
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words_)); }
  [[nodiscard]] std::uint64_t at(std::int64_t word) const {
    return words_[static_cast<std::size_t>(word)];
  }
  /// The ring's deltas that lead from one version to another, none if they are the same; nothing if
  /// the ring has not all of them (any more).
  [[nodiscard]] std::optional<DeltaChain> chain(base::WeightVersion from,
                                                base::WeightVersion to) const;
  /// The ring's entry with the delta that leads to, or from, a version.
  [[nodiscard]] std::optional<std::int64_t> delta_to(base::WeightVersion version) const;
  [[nodiscard]] std::optional<std::int64_t> delta_from(base::WeightVersion version) const;
  /// Of a slot that is not folded into any more: it has no half of a delta, as the version that
  /// followed its content was a full one.
  [[nodiscard]] bool is_clean(std::int64_t slot) const;
  /// Both copies say the same of every slot and entry.
  [[nodiscard]] bool same_places(const WordsCopy& other) const;

 private:
  std::vector<std::uint64_t> words_;
  std::int64_t ring_;
};

}  // namespace physarum::weights
