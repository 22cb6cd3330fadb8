#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "physarum/base/ids.hpp"
#include "physarum/base/options.hpp"

#include "physarum/text/chat_encoding.hpp"
#include "physarum/text/chat_template.hpp"
#include "physarum/text/tokenizer.hpp"

#include "physarum/sample/prompt.hpp"

namespace physarum::environment {

/// How prompts are put to the model.
struct ChatOptions {
  bool apply_chat_template = false;
  std::string arguments{};  ///< JSON object of further variables for the template; empty: none
  std::string date{};  ///< what the template takes for today, YYYY-MM-DD; empty: it has no clock
  /// What the names of special tokens mean inside messages, tools and arguments.
  text::SpecialTokens content = text::SpecialTokens::parse;
  void validate() const;  ///< throws UserError
};

/// --apply-chat-template, --apply-chat-template-kwargs, --chat-template-date,
/// --chat-template-content.
void declare_options(base::OptionTable& table, ChatOptions& options);

/// What supervised learning reads of one prompt.
struct Lesson {
  std::vector<base::TokenId> tokens;
  std::int64_t prompt_tokens = 0;  ///< before the first one that counts, at least 1
  std::vector<std::uint8_t> mask;  ///< one per token after those; 1: it counts
};

/// Turns prompts into tokens: texts as they stand, or conversations through the chat template. One
/// thread uses an object at a time; copies share what is large and are cheap.
class PromptEncoder {
 public:
  /// Reads the chat template of `directory` if the options ask for it. Throws UserError.
  [[nodiscard]] static PromptEncoder from_directory(const std::filesystem::path& directory,
                                                    text::Tokenizer tokenizer,
                                                    const ChatOptions& options);
  /// For texts alone.
  explicit PromptEncoder(text::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  /// What the model goes on from. A text may hold special tokens by name; with a chat template it
  /// is a user's only message. Throws UserError: a conversation without a chat template, or one
  /// that the template refuses.
  [[nodiscard]] std::vector<base::TokenId> encode(const sample::Prompt& prompt) const;

  /// What the model learns to say: the label, then `end`; of conversations the assistant's turns,
  /// as the template marks them. A label is the last of these turns if the conversation does not
  /// end with one. Throws UserError as encode() does, or if there is nothing to learn.
  [[nodiscard]] Lesson encode_lesson(const sample::Prompt& prompt, base::TokenId end) const;

 private:
  [[nodiscard]] text::Conversation conversation_of(const sample::Prompt& prompt) const;
  [[nodiscard]] Lesson encode_turns(const sample::Prompt& prompt) const;

  /// What a chat template needs besides the tokenizer.
  struct Chat {
    text::ChatTemplate form;
    text::ChatEncoder encoder;
    nlohmann::ordered_json arguments;
    text::TurnOptions turns;
  };
  text::Tokenizer tokenizer_;
  std::optional<Chat> chat_;
};

}  // namespace physarum::environment
