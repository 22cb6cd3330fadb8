#include "template_tests.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "template_filters.hpp"
#include "template_operators.hpp"
#include "template_print.hpp"
#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

using Alone = bool (*)(const Value&);

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.text() != nullptr || value.sequence() != nullptr ||
         value.dict() != nullptr || value.loop() != nullptr;
}

/// Jinja asks for a length and an index: strings and mappings have both.
bool is_sequence(const Value& value) {
  const Sequence* sequence = value.sequence();
  return value.is_undefined() || value.text() != nullptr || value.dict() != nullptr ||
         (sequence != nullptr && sequence->has_index());
}

const std::unordered_map<std::string_view, Alone>& tests_alone() {
  static const std::unordered_map<std::string_view, Alone> table = {
      {"defined", [](const Value& v) { return !v.is_undefined(); }},
      {"undefined", [](const Value& v) { return v.is_undefined(); }},
      {"none", [](const Value& v) { return v.is_none(); }},
      {"boolean", [](const Value& v) { return v.get<bool>() != nullptr; }},
      {"true", [](const Value& v) { return v.get<bool>() != nullptr && *v.get<bool>(); }},
      {"false", [](const Value& v) { return v.get<bool>() != nullptr && !*v.get<bool>(); }},
      {"integer", [](const Value& v) { return v.get<std::int64_t>() != nullptr; }},
      {"float", [](const Value& v) { return v.get<double>() != nullptr; }},
      {"number", [](const Value& v) { return v.is_number(); }},
      {"string", [](const Value& v) { return v.text() != nullptr; }},
      {"mapping", [](const Value& v) { return v.dict() != nullptr; }},
      {"iterable", is_iterable},
      {"sequence", is_sequence},
      {"callable",
       [](const Value& v) {
         return v.is_undefined() || v.method() != nullptr || v.get<const Function*>() != nullptr ||
                v.get<const Macro*>() != nullptr || v.loop() != nullptr;
       }},
      {"escaped", [](const Value& v) { return v.text() != nullptr && v.text()->is_markup(); }},
  };
  return table;
}

using Together = bool (*)(Machine&, const Value&, const Value&);

bool is_divisible(Machine& machine, const Value& value, const Value& divisor) {
  return !is_true(modulo(machine, value, divisor));
}

/// A binary test and the name of its argument.
struct Relation {
  std::string_view parameter;
  Together holds;
};

const std::unordered_map<std::string_view, Relation>& relations() {
  static const Relation equals{"b", equal};
  static const Relation differs{
      "b", [](Machine& m, const Value& a, const Value& b) { return !equal(m, a, b); }};
  static const Relation below{"b", less};
  static const Relation above{
      "b", [](Machine& m, const Value& a, const Value& b) { return less(m, b, a); }};
  static const Relation at_most{"b", [](Machine& m, const Value& a, const Value& b) {
                                  const auto order = compare(m, a, b);
                                  return order && *order <= 0;
                                }};
  static const Relation at_least{"b", [](Machine& m, const Value& a, const Value& b) {
                                   const auto order = compare(m, a, b);
                                   return order && *order >= 0;
                                 }};
  static const std::unordered_map<std::string_view, Relation> table = {
      {"==", equals},
      {"eq", equals},
      {"equalto", equals},
      {"!=", differs},
      {"ne", differs},
      {"<", below},
      {"lt", below},
      {"lessthan", below},
      {">", above},
      {"gt", above},
      {"greaterthan", above},
      {"<=", at_most},
      {"le", at_most},
      {">=", at_least},
      {"ge", at_least},
      {"divisibleby", {"num", is_divisible}},
      {"sameas", {"other", [](Machine&, const Value& a, const Value& b) { return a.same_as(b); }}},
      {"in", {"seq", [](Machine& m, const Value& a, const Value& b) { return contains(m, b, a); }}},
  };
  return table;
}

/// odd and even: of numbers, by the remainder.
bool is_odd(Machine& machine, const Value& value) {
  const Value rest = modulo(machine, value, Value(std::int64_t{2}));
  return equal(machine, rest, Value(std::int64_t{1}));
}

}  // namespace

bool has_test(std::string_view name) {
  static constexpr std::string_view others[] = {"odd", "even", "lower", "upper", "filter", "test"};
  if (tests_alone().contains(name) || relations().contains(name)) return true;
  return std::find(std::begin(others), std::end(others), name) != std::end(others);
}

bool run_test(Machine& machine, const std::string& name, const Value& value, Arguments arguments) {
  machine.step();
  const auto related = relations().find(name);
  if (related != relations().end()) {
    const Bound bound(machine, name, std::move(arguments), {related->second.parameter});
    return related->second.holds(machine, value, bound.at(0));
  }
  const Bound bound(machine, name, std::move(arguments), {});
  const auto alone = tests_alone().find(name);
  if (alone != tests_alone().end()) return alone->second(value);
  if (name == "odd") return is_odd(machine, value);
  if (name == "even") {
    return equal(machine, modulo(machine, value, Value(std::int64_t{2})), Value(std::int64_t{0}));
  }
  if (name == "lower") return is_all_lower(to_text(machine, value).bytes());
  if (name == "upper") return is_all_upper(to_text(machine, value).bytes());
  if (name == "filter") return value.text() != nullptr && has_filter(value.text()->bytes());
  if (name == "test") return value.text() != nullptr && has_test(value.text()->bytes());
  machine.fail("there is no test '" + name + "'",
               "use one of the tests that docs/chat_templates.md lists");
}

}  // namespace physarum::text::jinja
