#include <cctype>

#include "judge.hpp"

namespace physarum::environment {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads numbers one by one from the left.
class NumberReader {
 public:
  explicit NumberReader(std::string_view text) : text_(text) {}

  std::optional<std::string> next() {
    while (at_ < text_.size() && !is_digit(text_[at_])) ++at_;
    if (at_ == text_.size()) return std::nullopt;
    const bool negative = has_minus();
    const std::string whole = read_whole();
    return canonical(negative, whole, read_fraction());
  }

 private:
  [[nodiscard]] bool digit_at(std::size_t at) const {
    return at < text_.size() && is_digit(text_[at]);
  }

  /// Is there a sign before the number, and is it one, not the minus of a difference?
  [[nodiscard]] bool has_minus() const {
    const std::string_view before = text_.substr(0, at_);
    constexpr std::string_view typographic = "\u2212";
    std::size_t length = 0;
    if (before.ends_with('-')) length = 1;
    if (before.ends_with(typographic)) length = typographic.size();
    if (length == 0) return false;
    if (length == before.size()) return true;
    const auto previous = static_cast<unsigned char>(before[before.size() - length - 1]);
    return std::isalnum(previous) == 0 && previous != ')' && previous != ']' && previous < 0x80;
  }

  /// Digits; a comma belongs to them if exactly three digits follow it.
  std::string read_whole() {
    std::string digits;
    while (digit_at(at_)) {
      digits.push_back(text_[at_++]);
      const bool group = at_ < text_.size() && text_[at_] == ',' && digit_at(at_ + 1) &&
                         digit_at(at_ + 2) && digit_at(at_ + 3) && !digit_at(at_ + 4);
      if (group) ++at_;
    }
    return digits;
  }

  std::string read_fraction() {
    std::string digits;
    if (at_ >= text_.size() || text_[at_] != '.' || !digit_at(at_ + 1)) return digits;
    for (++at_; digit_at(at_); ++at_) digits.push_back(text_[at_]);
    return digits;
  }

  static std::string canonical(bool negative, std::string whole, std::string fraction) {
    whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size() - 1));
    fraction.erase(fraction.find_last_not_of('0') + 1);
    std::string number = fraction.empty() ? whole : whole + "." + fraction;
    return negative && number != "0" ? "-" + number : number;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string> last_number(std::string_view text) {
  NumberReader reader(text);
  std::optional<std::string> last;
  while (auto number = reader.next()) last = std::move(number);
  return last;
}

}  // namespace physarum::environment
