#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "physarum/base/ids.hpp"

#include "added_tokens.hpp"
#include "merges.hpp"
#include "normalize.hpp"
#include "splitter.hpp"
#include "token_index.hpp"

namespace physarum::text {

/// All that a tokenizer file says, ready for use. Immutable once read, shared between threads.
struct TokenizerModel {
  std::vector<std::string> tokens;  ///< by id: the bytes that each stands for
  TokenIndex made_by_merging;       ///< the tokens of the vocabulary by their bytes
  std::unordered_map<std::string, base::TokenId> id_of_added;  ///< by their text in the file

  /// What merging begins with; −1: the vocabulary has no token for this byte.
  std::array<base::TokenId, 256> byte_tokens{};
  std::optional<base::TokenId> unknown;  ///< stands for bytes without a token; else they give none
  bool fuse_unknown = false;             ///< one for all in a row
  MergeTable merges;
  bool ignore_merges = false;  ///< a piece that is a token is taken whole, merges or not

  std::vector<NormalForm> normal_forms;  ///< in this order
  std::vector<Stage> stages;
  AddedTokenFinder raw_added;         ///< looked for before normalisation
  AddedTokenFinder normalized_added;  ///< and behind it
  std::vector<bool> special;          ///< by id

  std::optional<base::TokenId> eos, bos, pad, unk;
};

/// The token of this text, added tokens first.
[[nodiscard]] std::optional<base::TokenId> find_token(const TokenizerModel& model,
                                                      std::string_view text);

}  // namespace physarum::text
