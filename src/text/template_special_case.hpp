#pragma once

#include <array>

namespace physarum::text::jinja {

/// A character whose upper or title case is several; unused places are 0.
struct SpecialCase {
  char32_t character;
  std::array<char32_t, 3> upper;
  std::array<char32_t, 3> title;
};

/// Null for the many that become one.
[[nodiscard]] const SpecialCase* find_special_case(char32_t character);

}  // namespace physarum::text::jinja
