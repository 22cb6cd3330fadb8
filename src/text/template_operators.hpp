#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "template_machine.hpp"

namespace physarum::text::jinja {

// Python's operators. All fail at the machine's place where Python raises.

[[nodiscard]] bool is_true(const Value& value);

[[nodiscard]] Value add(Machine& machine, const Value& left, const Value& right);
[[nodiscard]] Value subtract(Machine& machine, const Value& left, const Value& right);
[[nodiscard]] Value multiply(Machine& machine, const Value& left, const Value& right);
[[nodiscard]] Value divide(Machine& machine, const Value& left, const Value& right);
[[nodiscard]] Value floor_divide(Machine& machine, const Value& left, const Value& right);
/// Of numbers the remainder with the divisor's sign; of a text the printf format.
[[nodiscard]] Value modulo(Machine& machine, const Value& left, const Value& right);
[[nodiscard]] Value power(Machine& machine, const Value& left, const Value& right);
[[nodiscard]] Value negate(Machine& machine, const Value& value);
[[nodiscard]] Value absolute(Machine& machine, const Value& value);

[[nodiscard]] bool equal(Machine& machine, const Value& left, const Value& right);
/// Negative, zero or positive; nothing if one of them is not a number (NaN).
[[nodiscard]] std::optional<int> compare(Machine& machine, const Value& left, const Value& right);
[[nodiscard]] bool less(Machine& machine, const Value& left, const Value& right);
/// `needle in haystack`
[[nodiscard]] bool contains(Machine& machine, const Value& haystack, const Value& needle);

/// `value.name`: an attribute, or else an item of that name.
[[nodiscard]] Value get_attribute(Machine& machine, const Value& value, const std::string& name);
/// `value[key]`: an item, or else an attribute of that name.
[[nodiscard]] Value get_item(Machine& machine, const Value& value, const Value& key);
struct SliceBounds {
  std::optional<std::int64_t> start, stop, step;
};
/// `value[start:stop:step]`
[[nodiscard]] Value get_slice(Machine& machine, const Value& value, const SliceBounds& bounds);
/// What a loop over the value meets. A generator is used up by it.
[[nodiscard]] std::vector<Value> iterate(Machine& machine, const Value& value);
[[nodiscard]] std::size_t length_of(Machine& machine, const Value& value);

/// The format string's printf directives filled in from a value, a tuple or a mapping.
[[nodiscard]] Text format_printf(Machine& machine, const Text& format, const Value& arguments);
/// The text with & < > ' " replaced as HTML wants it.
[[nodiscard]] Text escape_html(const Text& text);

}  // namespace physarum::text::jinja
