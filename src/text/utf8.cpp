#include "physarum/text/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace physarum::text {

namespace {

/// What a lead byte promises: the length, and the range of the second byte, which alone excludes
/// overlong forms, surrogates and values above U+10FFFF.
struct Lead {
  std::size_t length = 0;  ///< 0: no character begins so
  unsigned char second_low = 0x80;
  unsigned char second_high = 0xBF;
};

Lead look_at_lead(unsigned char byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

/// Length of the run of ASCII at the beginning, a multiple of 8: most text is ASCII.
std::size_t skip_ascii_words(std::string_view bytes) {
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof word <= bytes.size(); at += sizeof word) {
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if ((word & 0x8080808080808080U) != 0) break;
  }
  return at;
}

}  // namespace

Utf8Step first_character(std::string_view bytes) {
  using Kind = Utf8Step::Kind;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const Lead lead = look_at_lead(byte(0));
  if (lead.length == 0) return {Kind::invalid, 1, 0};
  if (lead.length == 1) return {Kind::valid, 1, byte(0)};
  char32_t code_point = byte(0) & (0xFFU >> (lead.length + 1));
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == bytes.size()) return {Kind::incomplete, i, 0};
    const unsigned char low = i == 1 ? lead.second_low : 0x80;
    const unsigned char high = i == 1 ? lead.second_high : 0xBF;
    if (byte(i) < low || byte(i) > high) return {Kind::invalid, i, 0};
    code_point = (code_point << 6) | (byte(i) & 0x3FU);
  }
  return {Kind::valid, lead.length, code_point};
}

std::optional<std::size_t> find_invalid_utf8(std::string_view bytes) {
  std::size_t at = skip_ascii_words(bytes);
  while (at < bytes.size()) {
    const Utf8Step step = first_character(bytes.substr(at));
    if (step.kind != Utf8Step::Kind::valid) return at;
    at += step.length;
    if (step.length == 1) at += skip_ascii_words(bytes.substr(at));
  }
  return std::nullopt;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t good = find_invalid_utf8(bytes).value_or(bytes.size());
    out.append(bytes.substr(0, good));
    bytes.remove_prefix(good);
    if (bytes.empty()) break;
    append_utf8(out, U'\uFFFD');
    bytes.remove_prefix(first_character(bytes).length);
  }
  return out;
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t value) { out.push_back(static_cast<char>(value)); };
  if (code_point < 0x80) return put(code_point);
  if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
  } else {
    if (code_point < 0x10000) {
      put(0xE0 | (code_point >> 12));
    } else {
      put(0xF0 | (code_point >> 18));
      put(0x80 | ((code_point >> 12) & 0x3F));
    }
    put(0x80 | ((code_point >> 6) & 0x3F));
  }
  put(0x80 | (code_point & 0x3F));
}

}  // namespace physarum::text
