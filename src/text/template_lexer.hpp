#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "template_error.hpp"

namespace physarum::text::jinja {

struct Token {
  enum class Kind {
    data,  ///< text between the tags
    variable_begin,
    variable_end,
    block_begin,
    block_end,
    name,
    string,
    integer,
    real,
    sign,  ///< an operator or bracket
    end,
  };
  Kind kind = Kind::end;
  Position at;
  std::string text;  ///< the data, name or sign; of a string what it stands for
  std::int64_t integer = 0;
  double real = 0;
};

/// Cuts a template into tokens, white-space control done: as Jinja with trim_blocks, lstrip_blocks
/// and without keep_trailing_newline. Throws UserError with line and column.
[[nodiscard]] std::vector<Token> tokenize(std::string_view source, std::string_view name);

/// What a string literal without its quotes stands for.
[[nodiscard]] std::string unescape(std::string_view literal, std::string_view name, Position at);

}  // namespace physarum::text::jinja
