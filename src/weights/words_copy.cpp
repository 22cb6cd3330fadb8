#include "words_copy.hpp"

#include <utility>

namespace physarum::weights {

std::optional<std::int64_t> WordsCopy::delta_to(base::WeightVersion version) const {
  for (std::int64_t entry = 0; entry < ring_; ++entry) {
    if (at(StoreWords::entry(entry)) == StoreWords::of(version)) return entry;
  }
  return std::nullopt;
}

std::optional<std::int64_t> WordsCopy::delta_from(base::WeightVersion version) const {
  for (std::int64_t entry = 0; entry < ring_; ++entry) {
    if (at(StoreWords::entry(entry)) != 0 &&
        at(StoreWords::entry_base(entry)) == StoreWords::of(version)) {
      return entry;
    }
  }
  return std::nullopt;
}

std::optional<DeltaChain> WordsCopy::chain(base::WeightVersion from, base::WeightVersion to) const {
  DeltaChain chain;
  while (from != to) {
    const auto entry = delta_from(from);
    // The words of one look may be of different moments: a circle is none.
    if (!entry || std::cmp_equal(chain.size(), ring_)) return std::nullopt;
    const auto target = StoreWords::version(at(StoreWords::entry(*entry)));
    if (target <= from || target > to) return std::nullopt;
    chain.push_back({*entry, {from, target}});
    from = target;
  }
  return chain;
}

bool WordsCopy::is_clean(std::int64_t slot) const {
  return at(StoreWords::before(1 - slot)) == at(StoreWords::content(slot));
}

bool WordsCopy::same_places(const WordsCopy& other) const {
  for (std::int64_t word = 0; word < StoreWords::count(ring_); ++word) {
    // The others say nothing about what is in a place.
    if (word == StoreWords::newest || word == StoreWords::busy || word == StoreWords::wanted ||
        word == StoreWords::filed || word == StoreWords::fold_ns) {
      continue;
    }
    if (at(word) != other.at(word)) return false;
  }
  return true;
}

}  // namespace physarum::weights
