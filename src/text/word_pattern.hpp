#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace physarum::text {

/// Where a pattern was found: bytes [begin, end).
struct Match {
  std::size_t begin;
  std::size_t end;
};

/// Patterns that many tokenizer files hold word for word. For these there is code by hand, which
/// needs no steps back and is several times faster than the general search.
enum class WordPattern {
  gpt2,
  qwen2,     ///< numbers digit by digit
  llama3,    ///< numbers in threes
  deepseek,  ///< words of letters and marks; leaves numbers to stages of their own
  number,
  numbers,
  three_numbers,
  east_asian,  ///< the ranges that DeepSeek cuts out
};

/// The pattern that the text is, to the letter; nothing for others.
[[nodiscard]] std::optional<WordPattern> known_pattern(std::string_view pattern);
/// The text of a pattern, for tests and for components that imply one.
[[nodiscard]] std::string_view pattern_text(WordPattern pattern);

/// The first match at or after byte `from`: the same as Regex(pattern_text(pattern)) finds. `text`
/// must be valid UTF-8 and `from` the beginning of a character. Any thread.
[[nodiscard]] std::optional<Match> find_word(WordPattern pattern, std::string_view text,
                                             std::size_t from);

}  // namespace physarum::text
