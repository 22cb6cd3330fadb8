#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace physarum::text {

// Token ids depend on the Unicode version that a library knows. The reference's patterns know
// version 16 and its normaliser version 9; PCRE2 and utf8proc here know 14 and 15 or newer. These
// tables hold the differences, so that ids do not depend on what is installed.

struct CharacterRange {
  char32_t first;
  char32_t last;
};
struct NamedRange {
  char32_t first;
  char32_t last;
  std::string_view name;  ///< general category of two letters, or script
};

/// Characters of Unicode 15 to 16 in order, with their categories. No older character has left its
/// category in between, except U+1171E, which went from Mn to Mc.
[[nodiscard]] std::span<const NamedRange> categories_since_unicode_14();
/// Of these, the ones in the scripts that patterns may name; in order within a script.
[[nodiscard]] std::span<const NamedRange> scripts_since_unicode_14();

/// A character that the reference's normaliser passes on as it is: neither taken apart nor joined,
/// and no mark changes places with it.
[[nodiscard]] bool is_beyond_normalizer(char32_t code_point);

}  // namespace physarum::text
