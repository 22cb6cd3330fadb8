#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace physarum::text {

/// What patterns and normalisation ask of a character, as bits.
namespace character {
inline constexpr unsigned letter = 1;          ///< category L
inline constexpr unsigned number = 2;          ///< N
inline constexpr unsigned mark = 4;            ///< M
inline constexpr unsigned sign = 8;            ///< P or S
inline constexpr unsigned space = 16;          ///< White_Space
inline constexpr unsigned line_end = 32;       ///< CR, LF; also a space
inline constexpr unsigned word = 64;           ///< may stand inside a word
inline constexpr unsigned moved_by_nfc = 128;  ///< normal form C may change it or join it
}  // namespace character

/// Bits of every code point up to U+10FFFF, in Unicode 16 as the reference's patterns have it. Made
/// once, on the first call, in about 10 ms. Any thread.
[[nodiscard]] const std::uint8_t* character_classes();

/// A valid UTF-8 text read character by character without further checks.
class CharacterReader {
 public:
  using Byte = unsigned char;

  explicit CharacterReader(std::string_view text)
      : end_(reinterpret_cast<const Byte*>(text.data()) + text.size()),
        classes_(character_classes()) {}

  [[nodiscard]] const Byte* end() const { return end_; }

  /// The character at `at`, which must not be the end; `next` becomes the place behind it.
  static char32_t decode(const Byte* at, const Byte*& next) {
    const char32_t first = *at;
    if (first < 0x80) {
      next = at + 1;
      return first;
    }
    const auto rest = [at](int i) { return static_cast<char32_t>(at[i] & 0x3F); };
    if (first < 0xE0) {
      next = at + 2;
      return ((first & 0x1F) << 6) | rest(1);
    }
    if (first < 0xF0) {
      next = at + 3;
      return ((first & 0x0F) << 12) | (rest(1) << 6) | rest(2);
    }
    next = at + 4;
    return ((first & 0x07) << 18) | (rest(1) << 12) | (rest(2) << 6) | rest(3);
  }

  [[nodiscard]] unsigned classes(const Byte* at, const Byte*& next) const {
    return classes_[decode(at, next)];
  }
  /// Bits of the character at `at`; none at the end.
  [[nodiscard]] unsigned classes_or_none(const Byte* at, const Byte*& next) const {
    return at < end_ ? classes(at, next) : 0;
  }

  /// Behind the run of characters that have one of the bits.
  [[nodiscard]] const Byte* skip(const Byte* at, unsigned bits) const {
    const Byte* next = at;
    while (at < end_ && (classes(at, next) & bits) != 0) at = next;
    return at;
  }
  /// Behind the run of characters that have none of the bits.
  [[nodiscard]] const Byte* skip_others(const Byte* at, unsigned bits) const {
    const Byte* next = at;
    while (at < end_ && (classes(at, next) & bits) == 0) at = next;
    return at;
  }

 private:
  const Byte* end_;
  const std::uint8_t* classes_;
};

}  // namespace physarum::text
