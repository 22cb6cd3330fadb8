#include "valid_utf8.hpp"

#include <cstddef>
#include <cstdint>

namespace physarum::model {

namespace {

/// Bytes of the code point that starts with `lead`, and the range of its second byte; 0: no lead.
struct Form {
  std::size_t bytes = 0;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
};

Form form_of(std::uint8_t lead) {
  if (lead < 0x80) return {1};
  if (lead < 0xC2 || lead > 0xF4) return {0};
  if (lead < 0xE0) return {2};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};  // nothing overlong
  if (lead == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (lead < 0xF0) return {3};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {4};
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  for (std::size_t at = 0; at < text.size();) {
    const Form form = form_of(byte(at));
    if (form.bytes == 0 || form.bytes > text.size() - at) return false;
    for (std::size_t i = 1; i < form.bytes; ++i) {
      const std::uint8_t low = i == 1 ? form.low : 0x80;
      const std::uint8_t high = i == 1 ? form.high : 0xBF;
      if (byte(at + i) < low || byte(at + i) > high) return false;
    }
    at += form.bytes;
  }
  return true;
}

}  // namespace physarum::model
