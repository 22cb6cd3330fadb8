#include "template_functions.hpp"

#include <algorithm>
#include <iterator>

#include "template_operators.hpp"
#include "template_print.hpp"

namespace physarum::text::jinja {

namespace {

constexpr std::int64_t longest_range = 100000;  // that of Jinja's sandbox

Value range(Machine& machine, Arguments arguments) {
  const Bound bound(machine, "range", std::move(arguments), {"start", "stop", "step"});
  const bool only_stop = bound.find(1) == nullptr;
  (void)bound.at(0);
  const std::int64_t start = only_stop ? 0 : bound.integer(0, 0);
  const std::int64_t stop = only_stop ? bound.integer(0, 0) : bound.integer(1, 0);
  const std::int64_t step = bound.integer(2, 1);
  if (step == 0) machine.fail("the step of range() is zero");
  std::vector<Value> items;
  std::int64_t at = start;
  while (step > 0 ? at < stop : at > stop) {
    if (static_cast<std::int64_t>(items.size()) == longest_range) {
      machine.fail("range() is longer than " + std::to_string(longest_range));
    }
    machine.charge(sizeof(Value));
    machine.step();
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return machine.list(std::move(items), Sequence::Form::range);
}

/// What dict() makes of its arguments: a mapping or pairs, then names.
Dict collect(Machine& machine, std::string_view name, const Arguments& arguments) {
  if (arguments.positional.size() > 1) {
    machine.fail(std::string(name) + "() takes one mapping and names");
  }
  Dict dict;
  const auto set = [&](const Value& key, const Value& value) {
    if (!Dict::is_hashable(key)) machine.fail(key.type_name() + " cannot be a key");
    dict.set(key, value);
  };
  if (!arguments.positional.empty()) {
    const Value& given = arguments.positional.front();
    if (const Dict* other = given.dict()) {
      dict = *other;
    } else {
      for (const Value& pair : iterate(machine, given)) {
        const auto both = iterate(machine, pair);
        if (both.size() != 2) machine.fail(std::string(name) + "() wants pairs");
        set(both[0], both[1]);
      }
    }
  }
  for (const auto& [key, value] : arguments.named) set(machine.text(key), value);
  return dict;
}

Value dict(Machine& machine, Arguments arguments) {
  return machine.dict(collect(machine, "dict", arguments));
}

Value name_space(Machine& machine, Arguments arguments) {
  const Dict values = collect(machine, "namespace", arguments);
  machine.charge(sizeof(Namespace) + values.size() * 128);
  Namespace& space = machine.make_namespace();
  for (const auto& [key, value] : values.entries()) {
    if (key.text() == nullptr) continue;
    check_attribute_name(machine, key.text()->bytes());
    machine.charge(key.text()->size());
    space.attributes[key.text()->bytes()] = value;
  }
  return Value(&space);
}

Value raise_exception(Machine& machine, Arguments arguments) {
  const Bound bound(machine, "raise_exception", std::move(arguments), {"message"});
  machine.fail("the template refuses the conversation: " + to_text(machine, bound.at(0)).bytes(),
               "give it the messages and arguments that it wants");
}

Value strftime_now(Machine& machine, Arguments arguments) {
  const Bound bound(machine, "strftime_now", std::move(arguments), {"format"});
  (void)bound.at(0);
  return machine.text(format_date(machine, *machine.date(), bound.text(0, "")));
}

template <const char* name>
Value lacking(Machine& machine, Arguments) {
  machine.lacks(std::string("the function '") + name + "'");
}

constexpr char lipsum[] = "lipsum";
constexpr char cycler[] = "cycler";
constexpr char joiner[] = "joiner";

constexpr Function functions[] = {
    {"range", range},
    {"dict", dict},
    {"namespace", name_space},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
    {"lipsum", lacking<lipsum>},
    {"cycler", lacking<cycler>},
    {"joiner", lacking<joiner>},
};

}  // namespace

void check_attribute_name(Machine& machine, std::string_view name) {
  if (!name.starts_with('_')) return;
  machine.fail("an attribute of a namespace must not begin with an underscore",
               "give it another name");
}

const Function* find_function(std::string_view name, bool has_date) {
  const auto* found = std::find_if(std::begin(functions), std::end(functions),
                                   [&](const Function& entry) { return entry.name == name; });
  if (found == std::end(functions) || (name == "strftime_now" && !has_date)) return nullptr;
  return found;
}

}  // namespace physarum::text::jinja
