#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/text/chat_template.hpp"

#include "template_ast.hpp"
#include "template_text.hpp"

namespace physarum::text {

/// What a ChatTemplate is made of.
struct ChatTemplate::Content {
  std::map<std::string, jinja::Program, std::less<>> programs;  ///< by name, "default" for one
  SpecialTokenMap special_tokens;
  std::vector<std::string> other_special_tokens;  ///< those that have no role
  TemplateLimits limits;

  /// The template for conversations with or without tools.
  [[nodiscard]] const jinja::Program& choose(const Conversation& conversation) const;
  /// The first `count` messages with the origin of every character.
  [[nodiscard]] jinja::Text render(const Conversation& conversation, std::size_t count,
                                   GenerationPrompt prompt,
                                   const std::optional<ChatDate>& date) const;
  /// The same out of a budget of steps that several renderings share.
  [[nodiscard]] jinja::Text render(const Conversation& conversation, std::size_t count,
                                   GenerationPrompt prompt, const std::optional<ChatDate>& date,
                                   std::size_t& steps_left) const;
};

/// A byte range of a rendering.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Cuts a rendering where its source changes and where a range begins or ends. The ranges, in
/// order and apart, are the assistant's.
[[nodiscard]] ChatPieces cut_pieces(const jinja::Text& text, const std::vector<ByteRange>& ranges);

}  // namespace physarum::text
