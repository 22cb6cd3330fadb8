#pragma once

#include <array>
#include <string>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/text/chat_template.hpp"
#include "physarum/text/tokenizer.hpp"

namespace physarum::text {

/// Tokens of a conversation, and which of them count in the loss; equally long.
struct ChatTokens {
  std::vector<base::TokenId> ids;
  std::vector<bool> is_assistant;
};

/// The texts of all special tokens, for `TurnOptions`.
[[nodiscard]] std::vector<std::string> special_token_texts(const Tokenizer& tokenizer);

/// Makes tokens of rendered conversations. One object from one thread at a time.
class ChatEncoder {
 public:
  /// `content` says what the names of special tokens mean that stand in messages, tools and
  /// arguments, even in part: with `parse` all tokens are those of the whole text, as in
  /// `transformers`, and whoever writes "<|im_end|>" into a message ends its turn; with `literal`
  /// they are characters there, and the template's own ones are special as ever.
  explicit ChatEncoder(const Tokenizer& tokenizer, SpecialTokens content);

  /// A token counts as the assistant's if any of its characters does. Throws UserError as
  /// `Tokenizer::encode` does, or if normalisation moves characters across a turn's edge.
  [[nodiscard]] ChatTokens encode(const ChatPieces& pieces) const;

 private:
  struct Special {
    std::string text;
    bool takes_space_before;
    bool takes_space_behind;
  };
  struct Cut;
  [[nodiscard]] std::vector<Cut> cut(const std::string& text,
                                     const std::vector<bool>& is_data) const;
  [[nodiscard]] const Special* find_special(std::string_view text, std::size_t at,
                                            const std::vector<bool>& is_data, bool& blocked) const;

  Tokenizer tokenizer_;
  SpecialTokens content_;
  std::vector<Special> specials_;  ///< by first byte, longest first
  std::array<std::size_t, 257> begin_of_byte_{};
};

}  // namespace physarum::text
