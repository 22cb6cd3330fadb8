#include "character_classes.hpp"

#include <array>
#include <memory>

#include <utf8proc.h>

#include "normalize.hpp"
#include "unicode_tables.hpp"

namespace physarum::text {

namespace {

constexpr char32_t code_points = 0x110000;

unsigned bits_of_category(char first, char second) {
  switch (first) {
    case 'L':
      return character::letter | character::word;
    case 'M':
      return character::mark | character::word;
    case 'N':
      return character::number | (second == 'o' ? 0 : character::word);
    case 'P':
      return character::sign | (second == 'c' ? character::word : 0);
    case 'S':
      return character::sign;
    default:
      return 0;
  }
}

/// White_Space as Unicode has it since version 6.3.
bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

/// Alphabetic symbols and joiners, whose category does not tell that they belong to words.
bool is_word_by_itself(char32_t c) {
  return c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) ||
         (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
         (c >= 0x1F170 && c <= 0x1F189);
}

using Table = std::array<std::uint8_t, code_points>;

void put(Table& table, char32_t c, unsigned bits) {
  table[c] = static_cast<std::uint8_t>(table[c] | bits);
}

std::unique_ptr<const Table> make_table() {
  auto table = std::make_unique<Table>();
  for (char32_t c = 0; c < code_points; ++c) {
    const char* category = utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
    put(*table, c, bits_of_category(category[0], category[1]));
    if (is_space(c)) put(*table, c, character::space);
    if (is_word_by_itself(c)) put(*table, c, character::word);
    if (may_change_under_nfc(c)) put(*table, c, character::moved_by_nfc);
  }
  for (const NamedRange& range : categories_since_unicode_14()) {
    for (char32_t c = range.first; c <= range.last; ++c) {
      put(*table, c, bits_of_category(range.name[0], range.name[1]));
    }
  }
  put(*table, '\r', character::line_end);
  put(*table, '\n', character::line_end);
  return table;
}

}  // namespace

const std::uint8_t* character_classes() {
  static const std::unique_ptr<const Table> table = make_table();
  return table->data();
}

}  // namespace physarum::text
