#include "physarum/text/strict_json.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "physarum/base/error.hpp"

#include "physarum/text/utf8.hpp"

namespace physarum::text {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Appends a member; false if there is one of that name. A sorted object knows its names; one in
/// the order of the text would have to be searched from its begin each time.
class Names {
 public:
  bool add(nlohmann::json::object_t& members, std::string key, nlohmann::json value) {
    return members.try_emplace(std::move(key), std::move(value)).second;
  }
  bool add(nlohmann::ordered_json::object_t& members, std::string key,
           nlohmann::ordered_json value) {
    if (!known_.insert(key).second) return false;
    members.emplace_back(std::move(key), std::move(value));
    return true;
  }

 private:
  std::unordered_set<std::string> known_;
};

/// JSON by its grammar (RFC 8259), into the library's values. The library's own parser is several
/// times slower, keeps the last of two equal keys and tells of depth only by a callback.
template <class Json>
class Parser {
 public:
  Parser(std::string_view text, std::string_view where, std::size_t max_depth)
      : text_(text), where_(where), max_depth_(max_depth) {}

  Json parse() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // a byte order mark
    Json value = read_value(0);
    skip_space();
    if (at_ != text_.size()) refuse("something stands behind its end");
    return value;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw base::UserError("not JSON (" + what + " at byte " + std::to_string(at_) + ")", where_,
                          "mend the text at that place");
  }

  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
      ++at_;
    }
  }
  /// The next character that is no space; 0 at the end, where it is no character of the grammar.
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse("'" + std::string(1, c) + "' is missing");
  }

  Json read_value(std::size_t depth) {
    switch (peek()) {
      case '{':
        return read_object(depth);
      case '[':
        return read_array(depth);
      case '"':
        return read_string();
      case 't':
        return read_word("true", true);
      case 'f':
        return read_word("false", false);
      case 'n':
        return read_word("null", nullptr);
      default:
        return read_number();
    }
  }

  void check_depth(std::size_t depth) const {
    if (depth < max_depth_) return;
    throw base::UserError("the JSON is nested deeper than " + std::to_string(max_depth_), where_,
                          "flatten it");
  }

  Json read_object(std::size_t depth) {
    check_depth(depth);
    expect('{');
    typename Json::object_t members;
    Names names;
    if (take('}')) return Json(std::move(members));
    do {
      if (peek() != '"') refuse("a key is missing");
      std::string key = read_string();
      expect(':');
      Json value = read_value(depth + 1);
      if (!names.add(members, key, std::move(value))) refuse_twice(key);
    } while (take(','));
    expect('}');
    return Json(std::move(members));
  }

  [[noreturn]] void refuse_twice(const std::string& key) const {
    throw base::UserError("the key '" + key.substr(0, 64) + "' stands twice in one JSON object",
                          where_, "remove one of them");
  }

  Json read_array(std::size_t depth) {
    check_depth(depth);
    expect('[');
    typename Json::array_t items;
    if (take(']')) return Json(std::move(items));
    do {
      items.push_back(read_value(depth + 1));
    } while (take(','));
    expect(']');
    return Json(std::move(items));
  }

  Json read_word(std::string_view word, Json value) {
    if (!text_.substr(at_).starts_with(word)) refuse("a word that is no value");
    at_ += word.size();
    return value;
  }

  std::string read_string() {
    expect('"');
    std::string out;
    while (true) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
             static_cast<unsigned char>(text_[at_]) >= 0x20) {
        ++at_;
      }
      out.append(text_.substr(begin, at_ - begin));
      if (at_ == text_.size()) refuse("a text does not end");
      if (text_[at_] == '"') break;
      if (text_[at_] != '\\') refuse("a control character in a text");
      ++at_;
      read_escape(out);
    }
    ++at_;
    return out;
  }

  void read_escape(std::string& out) {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    const char letter = at_ < text_.size() ? text_[at_] : '\0';
    if (letter == 'u') {
      ++at_;
      return append_utf8(out, read_code_point());
    }
    const std::size_t index = letters.find(letter);
    if (index == std::string_view::npos) refuse("an escape that does not exist");
    ++at_;
    out.push_back(meanings[index]);
  }

  /// Characters beyond the first 65,536 are written as two halves.
  char32_t read_code_point() {
    const char32_t first = read_hexadecimal();
    if (first < 0xD800 || first > 0xDFFF) return first;
    if (first > 0xDBFF || !text_.substr(at_).starts_with("\\u")) refuse("half of a character");
    at_ += 2;
    const char32_t second = read_hexadecimal();
    if (second < 0xDC00 || second > 0xDFFF) refuse("half of a character");
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  }

  char32_t read_hexadecimal() {
    constexpr std::size_t digits = 4;
    const std::string_view text = text_.substr(at_, digits);
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || end != text.data() + digits) refuse("\\u without four digits");
    at_ += digits;
    return value;
  }

  void skip_digits() {
    if (at_ == text_.size() || !is_digit(text_[at_])) refuse("no value");
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  }

  Json read_number() {
    const std::size_t begin = at_;
    bool is_integer = true;
    if (text_.substr(at_).starts_with('-')) ++at_;
    if (text_.substr(at_).starts_with('0')) {
      ++at_;  // nothing stands behind a leading zero
    } else {
      skip_digits();
    }
    if (text_.substr(at_).starts_with('.')) {
      is_integer = false;
      ++at_;
      skip_digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      is_integer = false;
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      skip_digits();
    }
    return number(text_.substr(begin, at_ - begin), is_integer);
  }

  /// Integers that 64 bits hold stay integers, as in the library's own parser.
  Json number(std::string_view digits, bool is_integer) const {
    if (is_integer && digits.front() == '-') {
      if (const auto value = convert<typename Json::number_integer_t>(digits)) return *value;
    } else if (is_integer) {
      if (const auto value = convert<typename Json::number_unsigned_t>(digits)) return *value;
    }
    // Unlike from_chars this takes what is too small for a double as zero.
    const double value = std::strtod(std::string(digits).c_str(), nullptr);
    if (!std::isfinite(value)) refuse("a number that no double holds");
    return value;
  }

  template <class Number>
  static std::optional<Number> convert(std::string_view digits) {
    Number value{};
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return result.ec == std::errc() ? std::optional(value) : std::nullopt;
  }

  std::string_view text_;
  std::string_view where_;
  std::size_t max_depth_;
  std::size_t at_ = 0;
};

template <class Json>
Json parse(std::string_view text, std::string_view where, std::size_t max_depth) {
  if (const auto bad = find_invalid_utf8(text)) {
    throw base::UserError("not JSON (not UTF-8 at byte " + std::to_string(*bad) + ")", where,
                          "save it as UTF-8");
  }
  return Parser<Json>(text, where, max_depth).parse();
}

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, std::string_view where,
                                 std::size_t max_depth) {
  return parse<nlohmann::json>(text, where, max_depth);
}

nlohmann::ordered_json parse_strict_ordered_json(std::string_view text, std::string_view where,
                                                 std::size_t max_depth) {
  return parse<nlohmann::ordered_json>(text, where, max_depth);
}

}  // namespace physarum::text
