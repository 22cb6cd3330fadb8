#pragma once

#include <string>
#include <string_view>

#include "template_machine.hpp"

namespace physarum::text::jinja {

/// Whether `value is name` is known here.
[[nodiscard]] bool has_test(std::string_view name);
[[nodiscard]] bool run_test(Machine& machine, const std::string& name, const Value& value,
                            Arguments arguments);

}  // namespace physarum::text::jinja
