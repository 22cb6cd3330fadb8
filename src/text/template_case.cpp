#include <utf8proc.h>

#include "physarum/text/utf8.hpp"

#include "template_special_case.hpp"
#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

enum class Case { upper, lower, title };

bool is_cased(char32_t character) {
  const auto category = category_of(character);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT ||
         utf8proc_toupper(static_cast<utf8proc_int32_t>(character)) !=
             static_cast<utf8proc_int32_t>(character);
}

/// Characters that stand inside a word without ending it, as the rule for the final sigma has them.
bool is_case_ignorable(char32_t character) {
  switch (category_of(character)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return character == U'\'' || character == U'.' || character == U':' || character == 0xB7 ||
             character == 0x2018 || character == 0x2019 || character == 0x2024 ||
             character == 0x2027;
  }
}

/// Whether the sigma at `at` ends a word: something cased before it and nothing cased behind.
bool is_final_sigma(std::string_view text, std::size_t at) {
  std::size_t before = at;
  bool cased = false;
  while (before > 0 && !cased) {
    before -= length_before(text, before);
    const char32_t character = character_at(text, before).first;
    if (is_case_ignorable(character)) continue;
    if (!is_cased(character)) return false;
    cased = true;
  }
  if (!cased) return false;
  for (std::size_t behind = at + 2; behind < text.size();) {
    const auto [character, length] = character_at(text, behind);
    if (!is_case_ignorable(character)) return !is_cased(character);
    behind += length;
  }
  return true;
}

void append_special(std::string& out, const std::array<char32_t, 3>& characters) {
  for (const char32_t character : characters) {
    if (character != 0) append_utf8(out, character);
  }
}

void append_lower(std::string& out, std::string_view text, std::size_t at, char32_t character) {
  constexpr char32_t capital_sigma = 0x3A3;
  constexpr char32_t capital_i_with_dot = 0x130;
  if (character == capital_sigma) return append_utf8(out, is_final_sigma(text, at) ? 0x3C2 : 0x3C3);
  append_utf8(out,
              static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character))));
  if (character == capital_i_with_dot) out += "\u0307";
}

/// The character at `at` in another case.
void convert(std::string& out, std::string_view text, std::size_t at, char32_t character,
             Case wanted) {
  if (wanted == Case::lower) return append_lower(out, text, at, character);
  if (const SpecialCase* special = find_special_case(character)) {
    return append_special(out, wanted == Case::upper ? special->upper : special->title);
  }
  const auto plain = static_cast<utf8proc_int32_t>(character);
  append_utf8(out, static_cast<char32_t>(wanted == Case::upper ? utf8proc_toupper(plain)
                                                               : utf8proc_totitle(plain)));
}

/// Every character in the case that `choose` names for it.
template <class Choose>
Text convert_all(const Text& text, Choose choose) {
  Text result;
  std::string converted;
  for (std::size_t at = 0; at < text.size();) {
    const auto [character, length] = character_at(text.bytes(), at);
    converted.clear();
    convert(converted, text.bytes(), at, character, choose(at, character));
    result.append_like(converted, text, at);
    at += length;
  }
  if (text.is_markup()) result.set_markup();
  return result;
}

bool all_in_case(std::string_view text, utf8proc_category_t wanted, utf8proc_category_t other) {
  bool found = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto [character, length] = character_at(text, at);
    const auto category = category_of(character);
    if (category == other || category == UTF8PROC_CATEGORY_LT) return false;
    found = found || category == wanted;
    at += length;
  }
  return found;
}

}  // namespace

Text to_upper(const Text& text) {
  return convert_all(text, [](std::size_t, char32_t) { return Case::upper; });
}

Text to_lower(const Text& text) {
  return convert_all(text, [](std::size_t, char32_t) { return Case::lower; });
}

Text capitalize(const Text& text) {
  return convert_all(text,
                     [](std::size_t at, char32_t) { return at == 0 ? Case::title : Case::lower; });
}

Text to_title(const Text& text) {
  bool inside = false;
  return convert_all(text, [&](std::size_t, char32_t character) {
    const Case wanted = inside ? Case::lower : Case::title;
    inside = is_cased(character);
    return wanted;
  });
}

bool is_all_lower(std::string_view text) {
  return all_in_case(text, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LU);
}

bool is_all_upper(std::string_view text) {
  return all_in_case(text, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL);
}

}  // namespace physarum::text::jinja
