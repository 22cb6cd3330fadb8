#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/text/limits.hpp"

#include "added_tokens.hpp"
#include "merges.hpp"
#include "splitter.hpp"

namespace physarum::text {

/// Lets maps with text keys be asked with views.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

/// All that a tokenizer file says, ready for use. Immutable once read, shared between threads.
struct TokenizerModel {
  std::vector<std::string> tokens;     ///< by id: the bytes that each stands for
  TextMap<base::TokenId> id_of_bytes;  ///< what merging can make
  TextMap<base::TokenId> id_of_added;
  std::array<base::TokenId, 256> byte_tokens{};
  MergeTable merges;
  bool ignore_merges = false;  ///< a piece that is a token is taken whole, merges or not

  bool to_nfc = false;
  std::vector<Stage> stages;
  AddedTokenFinder raw_added;         ///< looked for before normalisation
  AddedTokenFinder normalized_added;  ///< and behind it
  std::vector<bool> special;          ///< by id

  std::optional<base::TokenId> eos, bos, pad;
};

}  // namespace physarum::text
