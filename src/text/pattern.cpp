#include "pattern.hpp"

#include "physarum/base/error.hpp"

namespace physarum::text {

namespace {

constexpr std::string_view space_ranges =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

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
      if (rest.starts_with("(?")) check_flags(rest.substr(2));
      if (rest.front() == '[') return open_class(rest);
    }
    take(1);
  }

  void escape(char letter) {
    if (std::string_view("wWbBhHK").find(letter) != std::string_view::npos) {
      refuse("'\\" + std::string(1, letter) + "'");
    }
    if (letter == 's') {
      out_.append(in_class_ ? "" : "[").append(space_ranges).append(in_class_ ? "" : "]");
    } else if (letter == 'S') {
      if (in_class_) refuse("'\\S' inside a class");
      out_.append("[^").append(space_ranges).append("]");
    } else {
      return take(escape_length(letter));
    }
    at_ += 2;
  }

  /// `\p{Lu}` and `\x{AB}` are one escape up to their brace.
  [[nodiscard]] std::size_t escape_length(char letter) const {
    const bool has_name = std::string_view("pPx").find(letter) != std::string_view::npos;
    if (!has_name || !pattern_.substr(at_ + 2).starts_with('{')) return 2;
    const std::size_t end = pattern_.find('}', at_);
    return end == std::string_view::npos ? pattern_.size() - at_ : end + 1 - at_;
  }

  /// A `]` right behind the opening is a character to PCRE2 and an error to Oniguruma.
  void open_class(std::string_view rest) {
    const std::size_t opening = rest.starts_with("[^") ? 2 : 1;
    if (rest.substr(opening).starts_with(']')) refuse("an empty class");
    in_class_ = true;
    take(opening);
  }

  /// Of the flags only `i` means the same to both.
  void check_flags(std::string_view flags) const {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    for (const char flag : flags) {
      if (!is_letter(flag) && flag != '-') return;
      if (is_letter(flag) && flag != 'i') refuse("the flag '" + std::string(1, flag) + "'");
    }
  }

  void take(std::size_t count) {
    out_.append(pattern_.substr(at_, count));
    at_ += count;
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
