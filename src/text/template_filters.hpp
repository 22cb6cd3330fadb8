#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "template_machine.hpp"

namespace physarum::text::jinja {

using Filter = Value (*)(Machine& machine, const Value& input, Arguments arguments);
using FilterTable = std::unordered_map<std::string_view, Filter>;

/// Filters that read or make text and numbers; those of lists and mappings.
[[nodiscard]] const FilterTable& text_filters();
[[nodiscard]] const FilterTable& number_filters();
[[nodiscard]] const FilterTable& sequence_filters();
[[nodiscard]] const FilterTable& selecting_filters();

[[nodiscard]] bool has_filter(std::string_view name);
/// Fails if there is no filter of that name.
[[nodiscard]] Value run_filter(Machine& machine, const std::string& name, const Value& input,
                               Arguments arguments);

/// What `attribute=` picks of an item: a dotted path, whose numbers are indices.
[[nodiscard]] Value pick(Machine& machine, const Value& item, const Value& path);
/// A string in lower case, all else as it is: what sorting compares if case does not count.
[[nodiscard]] Value ignore_case(Machine& machine, const Value& value);

}  // namespace physarum::text::jinja
