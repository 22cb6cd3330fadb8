#include <array>
#include <cstdio>

#include "physarum/text/utf8.hpp"

#include "template_lexer.hpp"
#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

/// Reads the escapes of Python's string literals.
class Unescaper {
 public:
  Unescaper(std::string_view literal, std::string_view name, Position at)
      : literal_(literal), name_(name), at_(at) {}

  std::string run() {
    while (i_ < literal_.size()) {
      const char c = literal_[i_++];
      if (c != '\\' || i_ == literal_.size()) {
        out_ += c;
      } else {
        escape();
      }
    }
    return std::move(out_);
  }

 private:
  void escape() {
    const auto [character, length] = character_at(literal_, i_);
    if (character >= 0x80) return escape_other(character, length);
    const char c = literal_[i_++];
    static constexpr std::string_view letters = "\\'\"abfnrtv";
    static constexpr std::string_view meanings = "\\'\"\a\b\f\n\r\t\v";
    const std::size_t known = letters.find(c);
    if (known != std::string_view::npos) {
      out_ += meanings[known];
    } else if (c == '\n') {
      return;  // a line that goes on
    } else if (c >= '0' && c <= '7') {
      --i_;
      append(digits(3, 8, false));
    } else if (c == 'x') {
      append(digits(2, 16, true));
    } else if (c == 'u') {
      append(digits(4, 16, true));
    } else if (c == 'U') {
      append(digits(8, 16, true));
    } else if (c == 'N') {
      refuse(name_, at_, "the escape \\N is not supported in chat templates here",
             "write the character itself");
    } else {
      out_ += '\\';
      out_ += c;
    }
  }

  /// Behind a backslash Python turns a character beyond ASCII into its number.
  void escape_other(char32_t character, std::size_t length) {
    std::array<char, 16> buffer{};
    const char* format = character < 0x100     ? "\\x%02x"
                         : character < 0x10000 ? "\\u%04x"
                                               : "\\U%08x";
    std::snprintf(buffer.data(), buffer.size(), format, static_cast<unsigned>(character));
    out_ += buffer.data();
    i_ += length;
  }

  char32_t digits(std::size_t most, unsigned base, bool all) {
    char32_t value = 0;
    std::size_t count = 0;
    for (; count < most && i_ < literal_.size(); ++count, ++i_) {
      const char c = literal_[i_];
      const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                             : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10U
                             : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A') + 10U
                                                    : 16U;
      if (digit >= base) break;
      value = value * base + digit;
    }
    if (all && count != most) {
      refuse(name_, at_, "an escape in a string is cut short",
             "give it all its hexadecimal digits");
    }
    return value;
  }

  void append(char32_t character) {
    if (character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) {
      refuse(name_, at_, "an escape in a string names no character",
             "write the character itself, not halves of it");
    }
    append_utf8(out_, character);
  }

  std::string_view literal_;
  std::string_view name_;
  Position at_;
  std::size_t i_ = 0;
  std::string out_;
};

}  // namespace

std::string unescape(std::string_view literal, std::string_view name, Position at) {
  return Unescaper(literal, name, at).run();
}

}  // namespace physarum::text::jinja
