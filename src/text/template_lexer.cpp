#include "template_lexer.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

using TokenKind = Token::Kind;
constexpr auto npos = std::string_view::npos;

/// All line ends become "\n", and one at the very end is dropped.
std::string normalize_lines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Value of a digit in any base up to 16, or 16.
unsigned digit_value(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10U;
  return 16;
}

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view name)
      : text_(normalize_lines(source)), source_(text_), name_(name) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) root();
    Token end;
    end.at = here();
    tokens_.push_back(std::move(end));
    return std::move(tokens_);
  }

 private:
  // Places. Columns count characters, so the walk never goes back.
  Position here() { return place(at_); }
  Position place(std::size_t offset) {
    for (; walked_ < offset; ++walked_) {
      if (source_[walked_] == '\n') {
        ++position_.line;
        position_.column = 1;
      } else if ((static_cast<unsigned char>(source_[walked_]) & 0xC0U) != 0x80U) {
        ++position_.column;
      }
    }
    return position_;
  }

  [[noreturn]] void fail(std::string_view what, std::string_view mend = "mend the template") {
    refuse(name_, here(), what, mend);
  }

  void push(TokenKind kind, std::string_view text) {
    Token token;
    token.kind = kind;
    token.at = here();
    token.text = text;
    tokens_.push_back(std::move(token));
  }

  void push_data(std::size_t begin, std::string_view data) {
    if (data.empty()) return;
    at_ = std::max(at_, begin);
    push(TokenKind::data, data);
  }

  bool looking_at(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  std::size_t after_space(std::size_t at) const {
    return at + strip_space(source_.substr(at), Ends::left).first;
  }

  /// Text up to the next tag, and what begins there.
  void root() {
    std::size_t tag = at_;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == npos || tag + 1 == source_.size()) {
        push_data(at_, source_.substr(at_));
        at_ = source_.size();
        return;
      }
      const char next = source_[tag + 1];
      if (next == '%' || next == '#' || next == '{') break;
      ++tag;
    }
    const char kind = source_[tag + 1];
    std::size_t inside = tag + 2;
    char sign = '\0';
    if (inside < source_.size() && (source_[inside] == '-' || source_[inside] == '+')) {
      sign = source_[inside++];
    }
    push_data(at_, stripped_before(at_, tag, sign, kind == '{'));
    at_ = tag;
    line_starts_ = false;
    if (kind == '#') return comment(inside);
    if (kind == '%' && raw(inside)) return;
    push(kind == '%' ? TokenKind::block_begin : TokenKind::variable_begin, "");
    at_ = inside;
    tag_content(kind);
  }

  /// Text before a tag without the white space that the tag takes.
  std::string_view stripped_before(std::size_t begin, std::size_t end, char sign,
                                   bool is_variable) const {
    const std::string_view text = source_.substr(begin, end - begin);
    if (sign == '-') return text.substr(0, strip_space(text, Ends::right).second);
    if (sign == '+' || is_variable) return text;
    const std::size_t newline = text.rfind('\n');
    const std::size_t line = newline == npos ? 0 : newline + 1;
    if (line == 0 && !line_starts_) return text;
    const auto [left, right] = strip_space(text.substr(line), Ends::left);
    return left == right ? text.substr(0, line) : text;
  }

  /// Goes on behind the end of a block: "-" takes all white space, none the newline.
  void end_block(char sign) {
    if (sign == '-') {
      at_ = after_space(at_);
    } else if (sign == '\0' && at_ < source_.size() && source_[at_] == '\n') {
      ++at_;
    }
    line_starts_ = source_[at_ - 1] == '\n';
  }

  void comment(std::size_t inside) {
    const std::size_t end = source_.find("#}", inside);
    if (end == npos) fail("a comment has no end", "close it with #}");
    const char before = end > inside ? source_[end - 1] : '\0';
    at_ = end + 2;
    end_block(before == '-' || before == '+' ? before : '\0');
  }

  /// `{% raw %}`: all is text up to `{% endraw %}`.
  bool raw(std::size_t inside) {
    std::size_t begin = after_space(inside);
    if (source_.substr(begin, 3) != "raw") return false;
    begin = after_space(begin + 3);
    if (source_.substr(begin, 3) == "-%}") {
      begin = after_space(begin + 3);
    } else if (source_.substr(begin, 2) == "%}") {
      begin += 2;
    } else {
      return false;
    }
    line_starts_ = source_[begin - 1] == '\n';
    for (std::size_t tag = source_.find("{%", begin); tag != npos;
         tag = source_.find("{%", tag + 1)) {
      std::size_t at = tag + 2;
      const char first = at < source_.size() ? source_[at] : '\0';
      const char sign = first == '-' || first == '+' ? first : '\0';
      if (sign != '\0') ++at;
      at = after_space(at);
      if (source_.substr(at, 6) != "endraw") continue;
      at = after_space(at + 6);
      const char closing = at < source_.size() ? source_[at] : '\0';
      const char end_sign = closing == '-' || closing == '+' ? closing : '\0';
      if (end_sign != '\0') ++at;
      if (source_.substr(at, 2) != "%}") continue;
      push_data(begin, stripped_before(begin, tag, sign, false));
      at_ = at + 2;
      end_block(end_sign);
      return true;
    }
    fail("a raw block has no end", "close it with {% endraw %}");
  }

  void tag_content(char kind) {
    brackets_.clear();
    while (true) {
      at_ = after_space(at_);
      if (at_ == source_.size()) {
        fail("the template ends inside a tag",
             kind == '%' ? "close it with %}" : "close it with }}");
      }
      if (brackets_.empty() && end_tag(kind)) return;
      expression_token();
    }
  }

  bool end_tag(char kind) {
    const bool has_sign = source_[at_] == '-' || (kind == '%' && source_[at_] == '+');
    const char sign = has_sign ? source_[at_] : '\0';
    if (source_.substr(at_ + (has_sign ? 1 : 0), 2) != (kind == '%' ? "%}" : "}}")) return false;
    push(kind == '%' ? TokenKind::block_end : TokenKind::variable_end, "");
    at_ += has_sign ? 3 : 2;
    if (kind == '%') {
      end_block(sign);
    } else {
      if (sign == '-') at_ = after_space(at_);
      line_starts_ = source_[at_ - 1] == '\n';
    }
    return true;
  }

  void expression_token() {
    const char c = source_[at_];
    if (is_digit(c)) return number();
    if (c == '\'' || c == '"') return string();
    const std::size_t end = name_end();
    if (end != at_) {
      push(TokenKind::name, source_.substr(at_, end - at_));
      at_ = end;
      return;
    }
    sign();
  }

  std::size_t name_end() const {
    std::size_t end = at_;
    while (end < source_.size()) {
      const auto [character, length] = character_at(source_, end);
      if (!is_word(character)) break;
      end += length;
    }
    return end;
  }

  void string() {
    const char quote = source_[at_];
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail("a string has no end", "close it with the quote it began with");
    push(TokenKind::string, "");
    tokens_.back().text =
        unescape(source_.substr(at_ + 1, end - at_ - 1), name_, tokens_.back().at);
    at_ = end + 1;
  }

  /// End of digits that single underscores may part.
  std::size_t digits_end(std::size_t begin, unsigned base) const {
    std::size_t end = begin;
    while (end < source_.size()) {
      const std::size_t digit = source_[end] == '_' && end > begin ? end + 1 : end;
      if (digit >= source_.size() || digit_value(source_[digit]) >= base) break;
      end = digit + 1;
    }
    return end;
  }

  void number() {
    const std::size_t whole = digits_end(at_, 10);
    std::size_t end = whole;
    const bool behind_dot = at_ > 0 && source_[at_ - 1] == '.';
    if (!behind_dot) {
      if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
        end = digits_end(end + 1, 10);
      }
      if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
        std::size_t exponent = end + 1;
        if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) {
          ++exponent;
        }
        if (exponent < source_.size() && is_digit(source_[exponent])) {
          end = digits_end(exponent, 10);
        }
      }
    }
    if (end != whole) return push_real(end);
    push_integer(whole);
  }

  std::string without_underscores(std::size_t begin, std::size_t end) const {
    std::string digits(source_.substr(begin, end - begin));
    std::erase(digits, '_');
    return digits;
  }

  void push_real(std::size_t end) {
    const std::string digits = without_underscores(at_, end);
    push(TokenKind::real, "");
    const auto result =
        std::from_chars(digits.data(), digits.data() + digits.size(), tokens_.back().real);
    if (result.ec != std::errc()) fail("the number is beyond what a float holds");
    at_ = end;
  }

  void push_integer(std::size_t whole) {
    unsigned base = 10;
    std::size_t begin = at_;
    std::size_t end = whole;
    if (source_[at_] == '0') {
      const char kind = at_ + 1 < source_.size() ? source_[at_ + 1] : '\0';
      const unsigned named = kind == 'x' || kind == 'X'   ? 16
                             : kind == 'o' || kind == 'O' ? 8
                             : kind == 'b' || kind == 'B' ? 2
                                                          : 10;
      std::size_t first = at_ + 2;
      if (named != 10 && first < source_.size() && source_[first] == '_') ++first;
      if (named != 10 && digits_end(first, named) != first) {
        base = named;
        begin = first;
        end = digits_end(first, named);
      } else {  // zeros only: what follows is another token
        end = at_ + 1;
        while (end < whole && (source_[end] == '0' || source_[end] == '_')) ++end;
        while (source_[end - 1] == '_') --end;
      }
    }
    const std::string digits = without_underscores(begin, end);
    push(TokenKind::integer, "");
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(),
                                        tokens_.back().integer, static_cast<int>(base));
    if (result.ec != std::errc()) fail("the integer leaves 64 bits");
    at_ = end;
  }

  void sign() {
    static constexpr std::array<std::string_view, 28> signs = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]",
        "(",  ")",  "{",  "}",  ">",  "<",  "=", ".", ":", "|", ",", ";", "&", "!"};
    const auto* found = std::find_if(signs.begin(), signs.end(),
                                     [&](std::string_view sign) { return looking_at(sign); });
    if (found == signs.end() || *found == "&" || *found == "!") {
      const std::size_t length = character_at(source_, at_).second;
      fail("unexpected character '" + std::string(source_.substr(at_, length)) + "'");
    }
    balance(found->front());
    push(TokenKind::sign, *found);
    at_ += found->size();
  }

  void balance(char c) {
    if (c == '(' || c == '[' || c == '{') {
      brackets_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (brackets_.empty() || brackets_.back() != c) {
        fail(std::string("unexpected '") + c + "'");
      }
      brackets_.pop_back();
    }
  }

  std::string text_;
  std::string_view source_;
  std::string_view name_;
  std::vector<Token> tokens_;
  std::string brackets_;  ///< the closing ones that are awaited
  std::size_t at_ = 0;
  std::size_t walked_ = 0;
  Position position_;
  bool line_starts_ = true;  ///< nothing but tags since the last line end
};

}  // namespace

std::vector<Token> tokenize(std::string_view source, std::string_view name) {
  return Lexer(source, name).run();
}

}  // namespace physarum::text::jinja
