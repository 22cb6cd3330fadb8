#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace physarum::text {

/// What a chat template may ask for at most, while it is read and while it runs. Templates and
/// conversations come from strangers; whoever crosses a limit is refused with line and column.
/// All inclusive.
struct TemplateLimits {
  std::size_t template_bytes = std::size_t{1} << 19;
  std::size_t nesting = 200;                         ///< of blocks and expressions in the source
  std::size_t recursion = 800;                       ///< the same while it runs, macros included
  std::size_t steps = std::size_t{50} << 20;         ///< evaluations, and 16 bytes of text each
  std::size_t value_bytes = std::size_t{256} << 20;  ///< all values made, dead ones included
  std::size_t value_depth = 100;                     ///< of lists and mappings in each other
  std::size_t output_bytes = std::size_t{64} << 20;  ///< the rendered conversation
  std::size_t config_bytes = std::size_t{16} << 20;  ///< tokenizer_config.json
};

/// The date that `strftime_now` sees. A rendering must not depend on the day of the run.
struct ChatDate {
  int year = 1970;  ///< 1 … 9999
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  /// "2025-07-31" or "2025-07-31T12:00:00". Throws UserError that names `where`.
  [[nodiscard]] static ChatDate parse(std::string_view text, std::string_view where);
};

/// Whether the rendering ends with what asks the model to speak.
enum class GenerationPrompt { omit, add };

/// What a template renders. The order of keys is kept: `tojson` prints it.
struct Conversation {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();  ///< array of objects
  nlohmann::ordered_json tools;                                       ///< array, or null for none
  /// Further variables by name, as keyword arguments of `apply_chat_template`.
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();

  /// Reads a list of messages, or an object with `messages` and, if wanted, `tools` and
  /// `arguments`. Throws UserError that names `where`: no JSON, a key that stands twice, another
  /// form.
  [[nodiscard]] static Conversation from_json(std::string_view json, std::string_view where);
};

/// Who wrote the characters of a rendering: the template, or the data that it was given.
enum class Source { from_template, from_data };

/// A part of a rendered conversation.
struct ChatPiece {
  std::string text;
  Source source = Source::from_template;
  bool is_assistant = false;  ///< what the model says: counts in the loss
};
using ChatPieces = std::vector<ChatPiece>;

/// The characters of all pieces in a row.
[[nodiscard]] std::string joined_text(const ChatPieces& pieces);

/// What to do with an assistant's turn in the middle of a conversation that the template prints
/// otherwise than it did when the turn was the last: its context or its end is not what the model
/// saw, so it is not clear what there is to learn.
enum class RewrittenTurns {
  refuse,
  leave_out,  ///< it stays in the text as context and is not marked
};

struct TurnOptions {
  RewrittenTurns rewritten = RewrittenTurns::refuse;
  /// Texts of the tokens that can end a turn besides eos_token and the special tokens that
  /// tokenizer_config.json lists; `special_token_texts` of a tokenizer gives them.
  std::vector<std::string> special_tokens{};
};

/// A chat template: the Jinja that comes with a tokenizer, rendered to the very characters that
/// `transformers` gives. What is supported stands in docs/chat_templates.md. Immutable; any thread.
class ChatTemplate {
 public:
  /// Special tokens by the names that templates know them by, "bos_token" for example.
  using SpecialTokenMap = std::map<std::string, std::string, std::less<>>;

  /// `where` names the template in messages. Throws UserError with line and column if it is no
  /// template, or uses what there is not here.
  [[nodiscard]] static ChatTemplate from_text(std::string_view source, std::string_view where,
                                              SpecialTokenMap special_tokens = {},
                                              const TemplateLimits& limits = {});
  /// Of a tokenizer's directory: chat_template.jinja, or else `chat_template` of
  /// tokenizer_config.json, a text or a list of named ones ("tool_use" serves conversations with
  /// tools, "default" all others). Throws UserError if there is none.
  [[nodiscard]] static ChatTemplate from_directory(const std::filesystem::path& directory,
                                                   const TemplateLimits& limits = {});

  /// Without a date, templates find no `strftime_now` and fall back to what they have instead.
  void set_date(const ChatDate& date) { date_ = date; }

  /// Throws UserError: the template refuses the conversation, fails on it as it does in Python, or
  /// crosses a limit.
  [[nodiscard]] std::string render(const Conversation& conversation,
                                   GenerationPrompt prompt = GenerationPrompt::omit) const;
  /// The same characters with their sources; nothing is marked as the assistant's.
  [[nodiscard]] ChatPieces render_pieces(const Conversation& conversation,
                                         GenerationPrompt prompt = GenerationPrompt::omit) const;
  /// The same with the assistant's turns marked: by the template's {% generation %} blocks if it
  /// has some, otherwise by rendering the beginnings of the conversation. Throws UserError if that
  /// does not tell where a turn begins and ends.
  [[nodiscard]] ChatPieces render_turns(const Conversation& conversation,
                                        const TurnOptions& options = {}) const;

  [[nodiscard]] bool has_generation_blocks() const;
  [[nodiscard]] const SpecialTokenMap& special_tokens() const;

 private:
  struct Content;
  explicit ChatTemplate(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
  std::optional<ChatDate> date_;
};

}  // namespace physarum::text
