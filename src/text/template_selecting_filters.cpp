#include "template_filters.hpp"
#include "template_operators.hpp"

namespace physarum::text::jinja {

namespace {

using Form = Sequence::Form;

/// `map('upper')` applies a filter, `map(attribute='name')` picks an attribute.
Value map(Machine& machine, const Value& input, Arguments arguments) {
  std::vector<Value> results;
  if (!is_true(input)) return machine.list({}, Form::generator);
  if (arguments.positional.empty()) {
    const Bound bound(machine, "map", std::move(arguments), {"attribute", "default"});
    const Value* otherwise = bound.find(1);
    for (const Value& item : iterate(machine, input)) {
      Value value = pick(machine, item, bound.at(0));
      if (value.is_undefined() && otherwise != nullptr && !otherwise->is_none()) {
        value = *otherwise;
      }
      results.push_back(std::move(value));
    }
    return machine.list(std::move(results), Form::generator);
  }
  const Value name = arguments.positional.front();
  if (name.text() == nullptr) machine.fail("map wants the name of a filter");
  arguments.positional.erase(arguments.positional.begin());
  for (const Value& item : iterate(machine, input)) {
    results.push_back(machine.apply_filter(name.text()->bytes(), item, arguments));
  }
  return machine.list(std::move(results), Form::generator);
}

/// select, reject, selectattr and rejectattr: by truth, or by a test and its arguments.
template <bool wanted, bool by_attribute>
Value select(Machine& machine, const Value& input, Arguments arguments) {
  if (!is_true(input)) return machine.list({}, Form::generator);
  Value attribute;
  if (by_attribute) {
    if (arguments.positional.empty()) machine.fail("the filter wants the name of an attribute");
    attribute = arguments.positional.front();
    arguments.positional.erase(arguments.positional.begin());
  }
  std::optional<std::string> test;
  if (!arguments.positional.empty()) {
    const Text* name = arguments.positional.front().text();
    if (name == nullptr) machine.fail("the filter wants the name of a test");
    test = name->bytes();
    arguments.positional.erase(arguments.positional.begin());
  }
  std::vector<Value> kept;
  for (const Value& item : iterate(machine, input)) {
    const Value value = by_attribute ? pick(machine, item, attribute) : item;
    const bool holds = test ? machine.apply_test(*test, value, arguments) : is_true(value);
    if (holds == wanted) kept.push_back(item);
  }
  return machine.list(std::move(kept), Form::generator);
}

}  // namespace

const FilterTable& selecting_filters() {
  static const FilterTable table = {
      {"map", map},
      {"reject", select<false, false>},
      {"rejectattr", select<false, true>},
      {"select", select<true, false>},
      {"selectattr", select<true, true>},
  };
  return table;
}

}  // namespace physarum::text::jinja
