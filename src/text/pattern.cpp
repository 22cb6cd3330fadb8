#include "pattern.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "physarum/base/error.hpp"

#include "property.hpp"

namespace physarum::text {

namespace {

constexpr std::string_view space_ranges =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

bool is_in(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

class PatternTranslator {
 public:
  PatternTranslator(std::string_view pattern, std::string_view where)
      : pattern_(pattern), where_(where) {}

  std::string translate() {
    while (at_ < pattern_.size()) step();
    return std::move(out_);
  }

 private:
  void step() {
    const std::string_view rest = pattern_.substr(at_);
    if (rest.front() == '\\' && rest.size() > 1) return escape(rest[1]);
    if (in_class_) {
      if (rest.front() == '[' || rest.starts_with("&&")) refuse("a class inside a class");
      if (rest.front() == ']') in_class_ = false;
    } else {
      if (rest.starts_with("}+")) refuse("'+' after a counted repetition");
      if (rest.starts_with("{,")) refuse("a repetition without a lower bound");
      if (rest.starts_with("(*")) refuse("'(*'");
      if (rest.starts_with("(?")) check_group(rest.substr(2));
      if (rest.front() == '[') return open_class(rest);
    }
    take(1);
  }

  void escape(char letter) {
    switch (letter) {
      case 's':
      case 'S':
        return put_class(space_ranges, letter == 'S', 2);
      case 'd':
      case 'D':
        return put_class(property_class("Nd"), letter == 'D', 2);
      case 'p':
      case 'P':
        return property(letter);
      case 'x':
        return code_point();
      default:
        // The control characters and the ends of the text mean the same to both, as do signs.
        if (is_alphanumeric(letter) && !is_in(letter, "tnrfaeAz"))
          refuse("'\\" + std::string(1, letter) + "'");
        take(2);
    }
  }

  /// `members` stand inside a class as they are, outside in one of their own.
  void put_class(std::string_view members, bool negated, std::size_t length) {
    if (in_class_ && negated) refuse("a negated escape inside a class");
    if (!in_class_) out_.append(negated ? "[^" : "[");
    out_.append(members);
    if (!in_class_) out_.push_back(']');
    at_ += length;
  }

  void property(char letter) {
    const std::string_view name = braced();
    bool negated = letter == 'P';
    std::string_view bare = name;
    if (bare.starts_with('^')) {
      negated = !negated;
      bare.remove_prefix(1);
    }
    const std::string members = property_class(bare);
    if (members.empty()) {
      refuse("'\\" + std::string(1, letter) + "{" + std::string(name.substr(0, 32)) + "}'");
    }
    put_class(members, negated, name.size() + 4);
  }

  /// Above U+007F a number without braces is a byte to Oniguruma and a character to PCRE2.
  void code_point() {
    const std::string_view rest = pattern_.substr(at_ + 2);
    if (rest.starts_with('{')) return take(braced().size() + 4);
    if (rest.size() < 2 || !is_in(rest[0], "01234567")) refuse("'\\x' without braces");
    take(4);
  }

  /// The text between the braces behind the escape here.
  [[nodiscard]] std::string_view braced() const {
    const std::size_t end = pattern_.find('}', at_);
    if (!pattern_.substr(at_ + 2).starts_with('{') || end == std::string_view::npos) {
      refuse("'\\" + std::string(1, pattern_[at_ + 1]) + "' without braces");
    }
    return pattern_.substr(at_ + 3, end - at_ - 3);
  }

  /// A `]` right behind the opening is a character to PCRE2 and an error to Oniguruma.
  void open_class(std::string_view rest) {
    const std::size_t opening = rest.starts_with("[^") ? 2 : 1;
    if (rest.substr(opening).starts_with(']')) refuse("an empty class");
    in_class_ = true;
    take(opening);
  }

  /// Plain, atomic and named groups, looking around, and the flag `i`.
  void check_group(std::string_view rest) const {
    for (const char* plain : {":", "=", "!", ">", "<=", "<!"}) {
      if (rest.starts_with(plain)) return;
    }
    if (rest.size() > 1 && rest[0] == '<' && std::isalpha(static_cast<unsigned char>(rest[1])) != 0)
      return;
    for (const char flag : rest) {
      if (flag == ':' || flag == ')') return;
      if (flag == 'i') check_case();
      if (flag != 'i' && flag != '-') refuse("the flag '" + std::string(1, flag) + "'");
    }
  }

  /// Without regard to case Oniguruma lets these pairs of letters match one character (as `ss`
  /// does U+00DF), PCRE2 does not. Letters beyond ASCII may have further such pairs.
  void check_case() const {
    std::string lower(pattern_);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
      return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    });
    for (const char* pair : {"ss", "st", "ff", "fi", "fl"}) {
      if (lower.find(pair) != std::string::npos) {
        refuse("the flag 'i' and the letters '" + std::string(pair) + "'");
      }
    }
  }

  void take(std::size_t count) {
    out_.append(pattern_.substr(at_, count));
    at_ += std::min(count, pattern_.size() - at_);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw base::UserError("the pattern holds " + what + " at byte " + std::to_string(at_) +
                              ", which is not supported",
                          where_, "write it with \\p{...} classes and plain repetitions");
  }

  std::string_view pattern_;
  std::string_view where_;
  std::string out_;
  std::size_t at_ = 0;
  bool in_class_ = false;
};

}  // namespace

std::string to_pcre2(std::string_view pattern, std::string_view where) {
  return PatternTranslator(pattern, where).translate();
}

}  // namespace physarum::text
