#pragma once

#include <string>

#include "template_machine.hpp"

namespace physarum::text::jinja {

/// Python's str(value), what `{{ value }}` prints.
[[nodiscard]] Text to_text(Machine& machine, const Value& value);
/// Python's repr(value), what stands for it inside a printed list.
[[nodiscard]] Text to_repr(Machine& machine, const Value& value);
/// Python's repr of a float: the shortest digits that give it back.
[[nodiscard]] std::string print_float(double value);

}  // namespace physarum::text::jinja
