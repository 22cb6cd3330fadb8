#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "template_filters.hpp"
#include "template_operators.hpp"
#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

/// The digits of a number as Python reads it: no white space around, and each underscore between
/// two digits dropped. Nothing if that is not its form.
std::optional<std::string> number_text(std::string_view bytes) {
  const auto [begin, end] = strip_space(bytes, Ends::both);
  const std::string_view text = bytes.substr(begin, end - begin);
  std::string digits;
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '_') {
      digits += text[at];
    } else if (at == 0 || !is_digit(at - 1) || !is_digit(at + 1)) {
      return std::nullopt;
    }
  }
  if (digits.starts_with('+')) {
    digits.erase(0, 1);
    if (digits.starts_with('-')) return std::nullopt;
  }
  if (digits.empty()) return std::nullopt;
  return digits;
}

std::optional<double> parse_real(std::string_view bytes) {
  const auto digits = number_text(bytes);
  if (!digits) return std::nullopt;
  double value = 0;
  const char* end = digits->data() + digits->size();
  const auto result = std::from_chars(digits->data(), end, value);
  if (result.ptr != end) return std::nullopt;
  if (result.ec == std::errc::result_out_of_range) return std::strtod(digits->c_str(), nullptr);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<Value> truncated(Machine& machine, double value) {
  if (!std::isfinite(value)) return std::nullopt;
  constexpr double limit = 9223372036854775808.0;
  if (std::abs(value) >= limit) machine.fail("int: the number leaves 64 bits");
  return Value(static_cast<std::int64_t>(value));
}

Value to_int(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "int", std::move(arguments), {"default", "base"});
  if (bound.integer(1, 10) != 10) machine.lacks("a base other than 10 in 'int'");
  const Value otherwise = bound.find(0) == nullptr ? Value(std::int64_t{0}) : *bound.find(0);
  if (const auto* undefined = input.get<Undefined>()) machine.fail(*undefined->why);
  std::int64_t integer = 0;
  if (input.to_integer(integer)) return Value(integer);
  if (input.is_number()) {
    const auto value = truncated(machine, input.to_double());
    if (!value && std::isinf(input.to_double())) machine.fail("int: infinity is no integer");
    return value.value_or(otherwise);
  }
  if (input.text() == nullptr) return otherwise;
  if (const auto digits = number_text(input.text()->bytes())) {
    const char* end = digits->data() + digits->size();
    const auto result = std::from_chars(digits->data(), end, integer);
    if (result.ptr == end && result.ec == std::errc()) return Value(integer);
    if (result.ptr == end) machine.fail("int: the number leaves 64 bits");
  }
  const auto real = parse_real(input.text()->bytes());
  return real ? truncated(machine, *real).value_or(otherwise) : otherwise;
}

Value to_float(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "float", std::move(arguments), {"default"});
  const Value otherwise = bound.find(0) == nullptr ? Value(0.0) : *bound.find(0);
  if (const auto* undefined = input.get<Undefined>()) machine.fail(*undefined->why);
  if (input.is_number()) return Value(input.to_double());
  if (input.text() == nullptr) return otherwise;
  const auto real = parse_real(input.text()->bytes());
  return real ? Value(*real) : otherwise;
}

Value absolute_filter(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "abs", std::move(arguments), {});
  return absolute(machine, input);
}

Value round_filter(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "round", std::move(arguments), {"precision", "method"});
  const std::int64_t digits = bound.integer(0, 0);
  const std::string method = bound.text(1, "common");
  if (!input.is_number()) machine.fail("round wants a number, not " + input.type_name());
  constexpr std::int64_t most_digits = 300;
  if (digits < 0 || digits > most_digits) machine.lacks("a precision below 0 or above 300");
  std::int64_t integer = 0;
  const bool is_integer = input.to_integer(integer);
  if (method == "common") {
    if (is_integer) return Value(integer);
    if (!std::isfinite(input.to_double())) return input;
    // printf rounds the exact binary value, halves to even, as Python does.
    std::array<char, 700> text{};
    std::snprintf(text.data(), text.size(), "%.*f", static_cast<int>(digits), input.to_double());
    return Value(std::strtod(text.data(), nullptr));
  }
  if (method != "ceil" && method != "floor") {
    machine.fail("round: the method must be common, ceil or floor");
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = input.to_double() * scale;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

}  // namespace

const FilterTable& number_filters() {
  static const FilterTable table = {
      {"abs", absolute_filter},
      {"float", to_float},
      {"int", to_int},
      {"round", round_filter},
  };
  return table;
}

}  // namespace physarum::text::jinja
