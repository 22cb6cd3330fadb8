#pragma once

#include <string>
#include <string_view>

namespace physarum::text {

/// `text` in Unicode's normal form C. The answer is `text` itself where nothing can change, else a
/// view of `storage`. `text` must be valid UTF-8. Any thread.
[[nodiscard]] std::string_view to_nfc(std::string_view text, std::string& storage);

/// Unicode's White_Space.
[[nodiscard]] bool is_white_space(char32_t code_point);
/// What may stand inside a word: letters, marks, decimal digits, connectors, joiners.
[[nodiscard]] bool is_word_character(char32_t code_point);

}  // namespace physarum::text
