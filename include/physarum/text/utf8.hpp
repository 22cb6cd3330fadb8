#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace physarum::text {

/// What stands at the beginning of some bytes.
struct Utf8Step {
  enum class Kind {
    valid,       ///< one character of `length` bytes
    invalid,     ///< `length` bytes that no continuation can mend (a maximal broken part)
    incomplete,  ///< the bytes end inside a character that may still become valid
  };
  Kind kind;
  std::size_t length;   ///< at least 1
  char32_t code_point;  ///< only if valid
};

/// Looks at the first character of `bytes`, which must not be empty. Any thread, as all here.
[[nodiscard]] Utf8Step first_character(std::string_view bytes);

/// Offset of the first byte that is not part of valid UTF-8 (surrogates and overlong forms are
/// invalid); nothing if all of it is valid.
[[nodiscard]] std::optional<std::size_t> find_invalid_utf8(std::string_view bytes);

/// The same text with each maximal broken part replaced by U+FFFD, as Rust and WHATWG do it.
[[nodiscard]] std::string replace_invalid_utf8(std::string_view bytes);

void append_utf8(std::string& out, char32_t code_point);

}  // namespace physarum::text
