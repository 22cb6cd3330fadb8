#include "property.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "unicode_tables.hpp"

namespace physarum::text {

namespace {

// Of category C only the parts that new characters do not leave.
constexpr auto categories = std::to_array<std::string_view>(
    {"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",
     "Nd", "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
     "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp", "Cc", "Co"});
constexpr auto scripts =
    std::to_array<std::string_view>({"Arabic", "Cyrillic", "Devanagari", "Greek", "Han", "Hangul",
                                     "Hebrew", "Hiragana", "Katakana", "Latin", "Thai"});

template <std::size_t count>
bool holds(const std::array<std::string_view, count>& names, std::string_view name) {
  return !name.empty() && std::find(names.begin(), names.end(), name) != names.end();
}

void append_range(std::string& out, const NamedRange& range) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "\\x{%X}-\\x{%X}", static_cast<unsigned>(range.first),
                static_cast<unsigned>(range.last));
  out.append(text.data());
}

}  // namespace

std::string property_class(std::string_view name) {
  std::string members;
  if (holds(categories, name)) {
    members = "\\p{" + std::string(name) + "}";
    for (const NamedRange& range : categories_since_unicode_14()) {
      if (range.name.starts_with(name)) append_range(members, range);
    }
  } else if (holds(scripts, name)) {
    // Without "sc:" PCRE2 would add the characters that a script shares with others.
    members = "\\p{sc:" + std::string(name) + "}";
    for (const NamedRange& range : scripts_since_unicode_14()) {
      if (range.name == name) append_range(members, range);
    }
  }
  return members;
}

}  // namespace physarum::text
