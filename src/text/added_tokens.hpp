#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/text/tokenizer.hpp"

namespace physarum::text {

/// A text that is one token wherever it stands.
struct AddedToken {
  base::TokenId id = -1;
  std::string content;
  bool single_word = false;  ///< only where it is not part of a longer word
  bool left_strip = false;   ///< takes the white space before it
  bool right_strip = false;  ///< and behind it
  bool normalized = false;   ///< looked for in the normalised text
  bool special = false;      ///< SpecialTokens and DecodeSpecial speak of these
};

/// A part of a text: an added token, or text between them (id −1).
struct Segment {
  std::string_view text;
  base::TokenId id = -1;
};

/// Finds added tokens: of those that begin first, the longest; behind it the search goes on.
/// Immutable, any thread.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  /// No two tokens may have the same content.
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  /// Appends the segments of `text` to `out`; they view `text`, which must be valid UTF-8.
  void split(std::string_view text, SpecialTokens special, std::vector<Segment>& out) const;

 private:
  [[nodiscard]] const AddedToken* longest_at(std::string_view rest) const;
  std::vector<AddedToken> tokens_;  ///< in the order of their content
  std::array<bool, 256> is_first_byte_{};
};

}  // namespace physarum::text
