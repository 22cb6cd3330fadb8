#include "template_unicode.hpp"

#include <algorithm>

#include <utf8proc.h>

#include "physarum/text/utf8.hpp"

namespace physarum::text::jinja {

namespace {

template <class InSet>
std::pair<std::size_t, std::size_t> strip_if(std::string_view text, Ends ends, InSet in_set) {
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (ends != Ends::right && begin < end) {
    const auto [character, length] = character_at(text, begin);
    if (!in_set(character)) break;
    begin += length;
  }
  while (ends != Ends::left && begin < end) {
    const std::size_t length = length_before(text, end);
    if (!in_set(character_at(text, end - length).first)) break;
    end -= length;
  }
  return {begin, end};
}

bool ends_line(char32_t character) {
  return (character >= U'\n' && character <= U'\r') || (character >= 0x1C && character <= 0x1E) ||
         character == 0x85 || character == 0x2028 || character == 0x2029;
}

}  // namespace

utf8proc_category_t category_of(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_space(char32_t character) {
  if (character < 0x80) {
    return (character >= 9 && character <= 13) || (character >= 28 && character <= 32);
  }
  return character == 0x85 || category_of(character) == UTF8PROC_CATEGORY_ZS ||
         character == 0x2028 || character == 0x2029;
}

bool is_printable(char32_t character) {
  if (character < 0x80) return character >= 0x20 && character != 0x7F;
  switch (category_of(character)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_word(char32_t character) {
  if (character < 0x80) {
    return (character >= U'0' && character <= U'9') || (character >= U'a' && character <= U'z') ||
           (character >= U'A' && character <= U'Z') || character == U'_';
  }
  const auto category = category_of(character);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO &&
         category != UTF8PROC_CATEGORY_ME;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::vector<std::size_t> character_offsets(std::string_view text) {
  std::vector<std::size_t> offsets;
  offsets.reserve(text.size() + 1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) offsets.push_back(i);
  }
  offsets.push_back(text.size());
  return offsets;
}

std::pair<char32_t, std::size_t> character_at(std::string_view text, std::size_t offset) {
  const auto byte = static_cast<unsigned char>(text[offset]);
  if (byte < 0x80) return {byte, 1};
  const Utf8Step step = first_character(text.substr(offset));
  return {step.code_point, step.length};
}

std::size_t length_before(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
  return end - begin;
}

std::pair<std::size_t, std::size_t> strip_space(std::string_view text, Ends ends) {
  return strip_if(text, ends, is_space);
}

std::pair<std::size_t, std::size_t> strip_set(std::string_view text, std::string_view set,
                                              Ends ends) {
  std::vector<char32_t> characters;
  for (std::size_t at = 0; at < set.size();) {
    const auto [character, length] = character_at(set, at);
    characters.push_back(character);
    at += length;
  }
  std::sort(characters.begin(), characters.end());
  return strip_if(text, ends, [&](char32_t character) {
    return std::binary_search(characters.begin(), characters.end(), character);
  });
}

std::vector<std::pair<std::size_t, std::size_t>> split_lines(std::string_view text) {
  std::vector<std::pair<std::size_t, std::size_t>> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto [character, length] = character_at(text, at);
    const std::size_t next = at + length;
    if (!ends_line(character)) {
      at = next;
      continue;
    }
    lines.emplace_back(begin, at);
    at = character == U'\r' && next < text.size() && text[next] == '\n' ? next + 1 : next;
    begin = at;
  }
  if (begin < text.size()) lines.emplace_back(begin, text.size());
  return lines;
}

}  // namespace physarum::text::jinja
