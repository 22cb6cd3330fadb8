#include "template_filters.hpp"

#include <algorithm>
#include <array>

#include "template_operators.hpp"
#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

Filter find_filter(std::string_view name) {
  for (const auto* table :
       {&text_filters(), &number_filters(), &sequence_filters(), &selecting_filters()}) {
    const auto found = table->find(name);
    if (found != table->end()) return found->second;
  }
  return nullptr;
}

/// A part of a path: an index if it is made of digits.
Value path_part(Machine& machine, std::string_view part) {
  const bool is_index = !part.empty() && std::all_of(part.begin(), part.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; });
  constexpr std::size_t longest_index = 18;
  if (!is_index || part.size() > longest_index) return machine.text(part);
  return Value(static_cast<std::int64_t>(std::stoll(std::string(part))));
}

}  // namespace

bool has_filter(std::string_view name) { return find_filter(name) != nullptr; }

Value run_filter(Machine& machine, const std::string& name, const Value& input,
                 Arguments arguments) {
  machine.step();
  const Filter filter = find_filter(name);
  if (filter == nullptr) {
    machine.fail("there is no filter '" + name + "'",
                 "use one of the filters that docs/chat_templates.md lists");
  }
  return filter(machine, input, std::move(arguments));
}

Value pick(Machine& machine, const Value& item, const Value& path) {
  if (path.is_none()) return item;
  if (path.text() == nullptr) return get_item(machine, item, path);
  std::string_view rest = path.text()->bytes();
  machine.work(rest.size());
  Value value = item;
  while (true) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    value = get_item(machine, value, path_part(machine, rest.substr(0, dot)));
    if (dot == rest.size()) return value;
    rest.remove_prefix(dot + 1);
  }
}

Value ignore_case(Machine& machine, const Value& value) {
  return value.text() == nullptr ? value : machine.text(to_lower(*value.text()));
}

}  // namespace physarum::text::jinja
