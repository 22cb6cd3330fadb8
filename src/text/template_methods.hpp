#pragma once

#include <string_view>

#include "template_machine.hpp"

namespace physarum::text::jinja {

/// What Python's type of a value has under a name.
enum class MethodKind {
  none,
  safe,
  changes,  ///< would change the value: the sandbox of templates hides it
};

[[nodiscard]] MethodKind find_method(const Value& value, std::string_view name);
/// Fails, with the method's name, if it is one of Python's that is not here.
[[nodiscard]] Value call_method(Machine& machine, const Method& method, Arguments arguments);

[[nodiscard]] Value call_text_method(Machine& machine, const Value& receiver,
                                     const std::string& name, Arguments arguments);
/// str.replace; `count` < 0 for all.
[[nodiscard]] Text replace_all(Machine& machine, const Text& text, const Text& from, const Text& to,
                               std::int64_t count);
/// str.format with fields by place and by name, without conversions and format specifications.
[[nodiscard]] Text format_fields(Machine& machine, const Text& format, const Arguments& arguments);

}  // namespace physarum::text::jinja
