#pragma once

#include <string_view>

#include "template_machine.hpp"

namespace physarum::text::jinja {

/// A function that templates find without anyone passing it.
struct Function {
  std::string_view name;
  Value (*run)(Machine& machine, Arguments arguments);
};

/// Null if there is none; strftime_now is there only with a date.
[[nodiscard]] const Function* find_function(std::string_view name, bool has_date);

/// Fails on names of attributes that a namespace does not take.
void check_attribute_name(Machine& machine, std::string_view name);

/// The date in the form of C's strftime, in English.
[[nodiscard]] std::string format_date(Machine& machine, const ChatDate& date,
                                      const std::string& format);

}  // namespace physarum::text::jinja
