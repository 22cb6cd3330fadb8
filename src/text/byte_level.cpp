#include "byte_level.hpp"

#include <array>

#include "physarum/text/utf8.hpp"

namespace physarum::text {

namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// Code points of the alphabet end at 0x143; -1: not of the alphabet. Bytes that are no printable
/// Latin-1 take the code points from U+0100 on, in order.
constexpr auto byte_of_character = [] {
  std::array<short, 0x144> table{};
  table.fill(-1);
  short next = 0x100;
  for (short byte = 0; byte < 0x100; ++byte) {
    table[static_cast<std::size_t>(stands_for_itself(byte) ? byte : next++)] = byte;
  }
  return table;
}();

}  // namespace

bool append_from_byte_level(std::string_view token, std::string& bytes) {
  while (!token.empty()) {
    const Utf8Step step = first_character(token);
    if (step.code_point >= byte_of_character.size()) return false;
    const short byte = byte_of_character[step.code_point];
    if (byte < 0) return false;
    bytes.push_back(static_cast<char>(byte));
    token.remove_prefix(step.length);
  }
  return true;
}

std::optional<std::string> from_byte_level(std::string_view token) {
  std::string bytes;
  bytes.reserve(token.size());
  if (!append_from_byte_level(token, bytes)) return std::nullopt;
  return bytes;
}

}  // namespace physarum::text
