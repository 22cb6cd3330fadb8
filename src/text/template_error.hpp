#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace physarum::text::jinja {

/// A place in a template, counted from 1; columns in characters.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// "name:line:column", as compilers print it.
[[nodiscard]] std::string place_of(std::string_view name, Position at);

/// Throws UserError at that place.
[[noreturn]] void refuse(std::string_view name, Position at, std::string_view what,
                         std::string_view mend);

}  // namespace physarum::text::jinja
