#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"

namespace physarum::base {

/// Sets of token ids behind one another, one for each of several tokens: what each was drawn from.
/// Ids rise in a set. An empty set, and every one behind the last, stands for all tokens.
struct TokenSets {
  std::vector<TokenId> ids;
  std::vector<std::int64_t> ends;  ///< set i is ids [ends[i - 1], ends[i])

  [[nodiscard]] bool empty() const { return ends.empty(); }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(ends.size()); }
  /// The i-th set; fits_together() must hold.
  [[nodiscard]] std::span<const TokenId> at(std::int64_t index) const {
    if (index >= size()) return {};
    const auto i = static_cast<std::size_t>(index);
    const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
    return std::span(ids).subspan(static_cast<std::size_t>(begin),
                                  static_cast<std::size_t>(ends[i] - begin));
  }
  void push(std::span<const TokenId> set) {
    ids.insert(ids.end(), set.begin(), set.end());
    ends.push_back(static_cast<std::int64_t>(ids.size()));
  }
  /// Appends empty sets until there are this many.
  void pad(std::int64_t count) {
    if (count > size())
      ends.resize(static_cast<std::size_t>(count), static_cast<std::int64_t>(ids.size()));
  }
  /// Every set lies in the ids, and they are all in sets.
  [[nodiscard]] bool fits_together() const {
    const std::int64_t last = ends.empty() ? 0 : ends.back();
    return (ends.empty() || ends.front() >= 0) && std::ranges::is_sorted(ends) &&
           last == static_cast<std::int64_t>(ids.size());
  }
  friend bool operator==(const TokenSets&, const TokenSets&) = default;
};

/// What is wrong with a set that `drawn` was drawn from; null: nothing.
[[nodiscard]] inline const char* set_fault(std::span<const TokenId> set, TokenId drawn) {
  if (set.empty()) return nullptr;
  if (set.front() < 0) return "a set of tokens has a negative id";
  if (std::ranges::adjacent_find(set, std::ranges::greater_equal{}) != set.end())
    return "the ids of a set of tokens do not rise";
  if (!std::ranges::binary_search(set, drawn)) return "a token is not in the set it was drawn from";
  return nullptr;
}

}  // namespace physarum::base
