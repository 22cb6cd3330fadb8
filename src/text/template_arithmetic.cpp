#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "template_operators.hpp"

namespace physarum::text::jinja {

namespace {

[[noreturn]] void fail_operands(Machine& machine, std::string_view sign, const Value& left,
                                const Value& right) {
  for (const Value* value : {&left, &right}) {
    if (const auto* undefined = value->get<Undefined>()) machine.fail(*undefined->why);
  }
  machine.fail("'" + std::string(sign) + "' does not work on " + left.type_name() + " and " +
               right.type_name());
}

[[noreturn]] void fail_overflow(Machine& machine) {
  machine.fail("an integer leaves the 64 bits that there are for it", "use smaller numbers");
}

bool both_integers(const Value& left, const Value& right, std::int64_t& a, std::int64_t& b) {
  return left.to_integer(a) && right.to_integer(b);
}

bool both_numbers(const Value& left, const Value& right) {
  return left.is_number() && right.is_number();
}

double nonzero(Machine& machine, const Value& value) {
  const double divisor = value.to_double();
  if (divisor == 0) machine.fail("division by zero");
  return divisor;
}

/// An operator between two numbers, if they are numbers: integers by `overflows`, which says
/// whether the result leaves 64 bits, as the compiler's checked operations do; others by `real`.
template <class Overflows, class Real>
std::optional<Value> on_numbers(Machine& machine, const Value& left, const Value& right,
                                Overflows overflows, Real real) {
  std::int64_t a = 0;
  std::int64_t b = 0;
  if (both_integers(left, right, a, b)) {
    std::int64_t result = 0;
    if (overflows(a, b, result)) fail_overflow(machine);
    return Value(result);
  }
  if (both_numbers(left, right)) return Value(real(left.to_double(), right.to_double()));
  return std::nullopt;
}

Value add_texts(Machine& machine, const Text& left, const Text& right) {
  machine.work(left.size() + right.size());
  const bool markup = left.is_markup() || right.is_markup();
  Text sum;
  sum.append(markup && !left.is_markup() ? escape_html(left) : left);
  sum.append(markup && !right.is_markup() ? escape_html(right) : right);
  if (markup) sum.set_markup();
  return machine.text(std::move(sum));
}

/// How often a text or a list is repeated, with the memory for it granted.
std::size_t repetitions(Machine& machine, std::int64_t count, std::size_t bytes) {
  if (count <= 0 || bytes == 0) return 0;
  const auto times = static_cast<std::size_t>(count);
  if (times > machine.limits().value_bytes / bytes) {
    machine.fail("a repetition takes more than the " +
                     std::to_string(machine.limits().value_bytes) + " bytes that values may take",
                 "repeat it less often");
  }
  machine.charge(times * bytes);
  machine.work(times * bytes);
  return times;
}

std::optional<Value> repeat(Machine& machine, const Value& value, const Value& count) {
  std::int64_t number = 0;
  if (!count.to_integer(number)) return std::nullopt;
  if (const Text* text = value.text()) {
    Text repeated;
    const std::size_t bytes_each = text->size() + text->runs().size() * sizeof(Run);
    const std::size_t times = repetitions(machine, number, bytes_each);
    for (std::size_t i = 0; i < times; ++i) repeated.append(*text);
    if (text->is_markup()) repeated.set_markup();
    return machine.text(std::move(repeated));
  }
  const Sequence* sequence = value.sequence();
  if (sequence == nullptr ||
      (sequence->form != Sequence::Form::list && sequence->form != Sequence::Form::tuple)) {
    return std::nullopt;
  }
  std::vector<Value> items;
  const std::size_t times = repetitions(machine, number, sequence->items.size() * sizeof(Value));
  for (std::size_t i = 0; i < times; ++i) {
    items.insert(items.end(), sequence->items.begin(), sequence->items.end());
  }
  return machine.list(std::move(items), sequence->form);
}

}  // namespace

Value add(Machine& machine, const Value& left, const Value& right) {
  const auto sum = on_numbers(
      machine, left, right,
      [](std::int64_t a, std::int64_t b, std::int64_t& result) {
        return __builtin_add_overflow(a, b, &result);
      },
      std::plus<>());
  if (sum) return *sum;
  if (left.text() != nullptr && right.text() != nullptr) {
    return add_texts(machine, *left.text(), *right.text());
  }
  const Sequence* first = left.sequence();
  const Sequence* second = right.sequence();
  if (first != nullptr && second != nullptr && first->form == second->form &&
      (first->form == Sequence::Form::list || first->form == Sequence::Form::tuple)) {
    machine.charge((first->items.size() + second->items.size()) * sizeof(Value));
    std::vector<Value> items = first->items;
    items.insert(items.end(), second->items.begin(), second->items.end());
    return machine.list(std::move(items), first->form);
  }
  fail_operands(machine, "+", left, right);
}

Value subtract(Machine& machine, const Value& left, const Value& right) {
  const auto difference = on_numbers(
      machine, left, right,
      [](std::int64_t a, std::int64_t b, std::int64_t& result) {
        return __builtin_sub_overflow(a, b, &result);
      },
      std::minus<>());
  if (difference) return *difference;
  fail_operands(machine, "-", left, right);
}

Value multiply(Machine& machine, const Value& left, const Value& right) {
  const auto product = on_numbers(
      machine, left, right,
      [](std::int64_t a, std::int64_t b, std::int64_t& result) {
        return __builtin_mul_overflow(a, b, &result);
      },
      std::multiplies<>());
  if (product) return *product;
  if (auto repeated = repeat(machine, left, right)) return *repeated;
  if (auto repeated = repeat(machine, right, left)) return *repeated;
  fail_operands(machine, "*", left, right);
}

Value divide(Machine& machine, const Value& left, const Value& right) {
  if (!both_numbers(left, right)) fail_operands(machine, "/", left, right);
  const double divisor = nonzero(machine, right);
  return Value(left.to_double() / divisor);
}

Value floor_divide(Machine& machine, const Value& left, const Value& right) {
  if (!both_numbers(left, right)) fail_operands(machine, "//", left, right);
  const double divisor = nonzero(machine, right);
  std::int64_t a = 0;
  std::int64_t b = 0;
  if (both_integers(left, right, a, b)) {
    if (a == std::numeric_limits<std::int64_t>::min() && b == -1) fail_overflow(machine);
    return Value(a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0));
  }
  const double dividend = left.to_double();
  const double rest = std::fmod(dividend, divisor);
  double quotient = (dividend - rest) / divisor;
  if (rest != 0 && (divisor < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return Value(std::copysign(0.0, dividend / divisor));
  const double floor = std::floor(quotient);
  return Value(quotient - floor > 0.5 ? floor + 1 : floor);
}

Value modulo(Machine& machine, const Value& left, const Value& right) {
  if (const Text* format = left.text()) {
    if (format->is_markup()) machine.lacks("'%' on the result of the filter 'safe'");
    return machine.text(format_printf(machine, *format, right));
  }
  if (!both_numbers(left, right)) fail_operands(machine, "%", left, right);
  const double divisor = nonzero(machine, right);
  std::int64_t a = 0;
  std::int64_t b = 0;
  if (both_integers(left, right, a, b)) {
    if (b == -1) return Value(std::int64_t{0});
    const std::int64_t rest = a % b;
    return Value(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
  }
  double rest = std::fmod(left.to_double(), divisor);
  if (rest == 0) {
    rest = std::copysign(0.0, divisor);
  } else if ((divisor < 0) != (rest < 0)) {
    rest += divisor;
  }
  return Value(rest);
}

Value power(Machine& machine, const Value& left, const Value& right) {
  if (!both_numbers(left, right)) fail_operands(machine, "**", left, right);
  std::int64_t base = 0;
  std::int64_t exponent = 0;
  if (both_integers(left, right, base, exponent) && exponent >= 0) {
    std::int64_t result = 1;
    if (base == 0 || base == 1) return Value(exponent == 0 ? std::int64_t{1} : base);
    if (base == -1) return Value(exponent % 2 == 0 ? std::int64_t{1} : base);
    for (; exponent > 0; --exponent) {  // ends within 63 rounds, by overflow at the latest
      if (__builtin_mul_overflow(result, base, &result)) fail_overflow(machine);
    }
    return Value(result);
  }
  const double a = left.to_double();
  const double b = right.to_double();
  if (a == 0 && b < 0) machine.fail("0 cannot be raised to a negative power");
  if (a < 0 && std::floor(b) != b && std::isfinite(b)) machine.lacks("a complex number");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
    machine.fail("a power is too large for a float", "use smaller numbers");
  }
  return Value(result);
}

Value negate(Machine& machine, const Value& value) {
  std::int64_t integer = 0;
  if (value.to_integer(integer)) {
    if (integer == std::numeric_limits<std::int64_t>::min()) fail_overflow(machine);
    return Value(-integer);
  }
  if (value.is_number()) return Value(-value.to_double());
  if (const auto* undefined = value.get<Undefined>()) machine.fail(*undefined->why);
  machine.fail("a sign does not work on " + value.type_name());
}

Value absolute(Machine& machine, const Value& value) {
  std::int64_t integer = 0;
  if (value.to_integer(integer)) return integer < 0 ? negate(machine, value) : Value(integer);
  if (value.is_number()) return Value(std::abs(value.to_double()));
  return negate(machine, value);  // complains
}

}  // namespace physarum::text::jinja
