#include "problem.hpp"

#include <algorithm>
#include <array>

#include "physarum/base/contracts.hpp"
#include "physarum/base/hash.hpp"

namespace physarum::environment {

namespace {

struct OperatorText {
  std::string_view name;
  char sign;
  std::string_view word;
};
constexpr std::array<OperatorText, 3> operator_texts = {{
    {"add", '+', "plus"},
    {"sub", '-', "minus"},
    {"mul", '*', "times"},
}};

const OperatorText& text_of(Operator op) { return operator_texts[static_cast<std::size_t>(op)]; }

/// Part of the meaning of each level: another key would move problems from evaluation to training.
constexpr std::uint64_t held_out_key = 0x5048595341525546U;

/// `value` in `width` characters, the sign included.
std::string zero_filled(std::int64_t value, int width) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  const auto room = static_cast<std::size_t>(width) - (value < 0 ? 1 : 0);
  base::ensures(digits.size() <= room, "the answer fits its width");
  digits.insert(0, room - digits.size(), '0');
  return value < 0 ? "-" + digits : digits;
}

/// Uniform in [0, bound): the high half of a product.
std::uint64_t scale(std::uint64_t bits, std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits) * bound) >> 64);
}

}  // namespace

ProblemPart::ProblemPart(Operator op, int digits, std::int64_t held_out)
    : op_(op), digits_(digits), name_(std::string(text_of(op).name) + std::to_string(digits)) {
  base::expects(digits >= 1 && digits <= 9, "operands have 1 to 9 digits");
  base::expects(held_out >= 0, "a number of problems is not negative");
  for (int i = 0; i < digits; ++i) operands_ *= 10;
  choose_held_out(held_out);
}

std::optional<ProblemPart::Kind> ProblemPart::parse(std::string_view name) {
  for (std::size_t i = 0; i < operator_texts.size(); ++i) {
    const std::string_view op = operator_texts[i].name;
    if (name.size() != op.size() + 1 || !name.starts_with(op)) continue;
    const char digit = name.back();
    if (digit >= '1' && digit <= '9') return Kind{static_cast<Operator>(i), digit - '0'};
  }
  return std::nullopt;
}

/// Hashes of the part's name and a counter until there are enough different problems. A larger
/// number begins with the problems of a smaller one.
void ProblemPart::choose_held_out(std::int64_t number) {
  const std::uint64_t wanted = std::min(static_cast<std::uint64_t>(number), count() / 2);
  for (std::uint64_t i = 0; held_out_.size() < wanted; ++i) {
    const std::uint64_t bits = base::hash64(name_ + "/" + std::to_string(i), held_out_key);
    const std::uint64_t problem = scale(bits, count());
    if (held_out_set_.insert(problem).second) held_out_.push_back(problem);
  }
}

std::int64_t ProblemPart::left(std::uint64_t problem) const {
  return static_cast<std::int64_t>(problem / operands_);
}

std::int64_t ProblemPart::right(std::uint64_t problem) const {
  return static_cast<std::int64_t>(problem % operands_);
}

std::int64_t ProblemPart::result(std::uint64_t problem) const {
  const std::int64_t a = left(problem);
  const std::int64_t b = right(problem);
  switch (op_) {
    case Operator::add:
      return a + b;
    case Operator::subtract:
      return a - b;
    default:
      return a * b;
  }
}

std::string ProblemPart::fixed_text(std::uint64_t problem) const {
  return zero_filled(left(problem), digits_) + text_of(op_).sign +
         zero_filled(right(problem), digits_) + "=";
}

std::string ProblemPart::fixed_answer(std::uint64_t problem) const {
  const int width = op_ == Operator::multiply ? 2 * digits_ : digits_ + 1;
  return zero_filled(result(problem), width);
}

std::string ProblemPart::words_text(std::uint64_t problem) const {
  return "What is " + std::to_string(left(problem)) + " " + std::string(text_of(op_).word) + " " +
         std::to_string(right(problem)) + "?\n";
}

std::string ProblemPart::words_answer(std::uint64_t problem) const {
  return std::to_string(result(problem));
}

}  // namespace physarum::environment
