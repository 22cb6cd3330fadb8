#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <utf8proc.h>

#include "template_text.hpp"

namespace physarum::text::jinja {

// What Python's str knows about characters. All texts must be valid UTF-8; any thread.

[[nodiscard]] utf8proc_category_t category_of(char32_t character);
[[nodiscard]] bool is_ascii(std::string_view text);
[[nodiscard]] bool is_space(char32_t character);      ///< str.isspace and \s
[[nodiscard]] bool is_printable(char32_t character);  ///< what repr leaves as it is
[[nodiscard]] bool is_word(char32_t character);       ///< may be part of a name

[[nodiscard]] std::size_t count_characters(std::string_view text);
/// Byte offsets of all characters, and the size at the end.
[[nodiscard]] std::vector<std::size_t> character_offsets(std::string_view text);
/// The character at a byte offset and its length in bytes.
[[nodiscard]] std::pair<char32_t, std::size_t> character_at(std::string_view text,
                                                            std::size_t offset);
/// Length in bytes of the character that ends at `end` > 0.
[[nodiscard]] std::size_t length_before(std::string_view text, std::size_t end);

enum class Ends { left, right, both };
/// What is left of the text without white space at its ends: a byte range.
[[nodiscard]] std::pair<std::size_t, std::size_t> strip_space(std::string_view text, Ends ends);
/// The same without the characters of a set.
[[nodiscard]] std::pair<std::size_t, std::size_t> strip_set(std::string_view text,
                                                            std::string_view set, Ends ends);

// Case as in the Unicode data, one character to several included (ß becomes SS).
[[nodiscard]] Text to_upper(const Text& text);
[[nodiscard]] Text to_lower(const Text& text);
[[nodiscard]] Text capitalize(const Text& text);  ///< the first to title case, the rest to lower
[[nodiscard]] Text to_title(const Text& text);    ///< str.title: every word capitalised
[[nodiscard]] bool is_all_lower(std::string_view text);
[[nodiscard]] bool is_all_upper(std::string_view text);

/// Byte ranges of the lines without their ends, as str.splitlines has them.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> split_lines(std::string_view text);

}  // namespace physarum::text::jinja
