#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/base/ids.hpp"

namespace physarum::text {

/// The tokens of words that came by before: most words of a text repeat. Bounded: a new word takes
/// the place of an old one, and once the store of words is full all begin anew. Takes no memory
/// before the first word: copies of a tokenizer that only decode are many. One thread at a time.
class WordCache {
 public:
  static constexpr std::size_t longest_word = 128;  ///< bytes; longer ones are not kept

  /// Nothing if the word is not known. Holds until the next put().
  [[nodiscard]] std::optional<std::span<const base::TokenId>> find(std::string_view word) const;
  /// `word` must not be longer than longest_word.
  void put(std::string_view word, std::span<const base::TokenId> ids);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t word_at = 0;
    std::uint32_t ids_at = 0;
    std::uint16_t word_bytes = 0;  ///< 0: free
    std::uint16_t ids = 0;
  };
  std::vector<Slot> slots_;  ///< none before the first word
  std::string words_;
  std::vector<base::TokenId> ids_;
};

}  // namespace physarum::text
