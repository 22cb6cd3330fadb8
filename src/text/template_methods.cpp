#include "template_methods.hpp"

#include <algorithm>
#include <array>

#include "template_operators.hpp"

namespace physarum::text::jinja {

namespace {

using Names = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view name, Names names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_text_method(std::string_view name) {
  return is_one_of(
      name,
      {"capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
       "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
       "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
       "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
       "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
       "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
       "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
       "swapcase",     "title",       "translate", "upper",      "zfill"});
}

Value call_dict_method(Machine& machine, const Dict& dict, const std::string& name,
                       Arguments arguments) {
  if (name == "get") {
    const Bound bound(machine, "get", std::move(arguments), {"key", "default"});
    if (!Dict::is_hashable(bound.at(0))) {
      machine.fail(bound.at(0).type_name() + " cannot be a key");
    }
    if (const Text* key = bound.at(0).text()) machine.work(key->size());
    const Value* found = dict.find(bound.at(0));
    if (found != nullptr) return *found;
    return bound.find(1) == nullptr ? Value() : *bound.find(1);
  }
  const Bound bound(machine, name, std::move(arguments), {});
  if (name == "copy") return machine.dict(dict);
  if (!is_one_of(name, {"items", "keys", "values"})) machine.lacks("dict." + name);
  std::vector<Value> items;
  machine.charge(dict.size() * sizeof(Value));
  for (const auto& [key, value] : dict.entries()) {
    items.push_back(name == "keys" ? key : name == "values" ? value : machine.tuple({key, value}));
  }
  return machine.list(std::move(items), Sequence::Form::view);
}

Value call_list_method(Machine& machine, const Value& receiver, const std::string& name,
                       Arguments arguments) {
  if (name == "copy") {
    const Bound bound(machine, name, std::move(arguments), {});
    return machine.list(iterate(machine, receiver));
  }
  const Bound bound(machine, name, std::move(arguments), {"value"});
  std::int64_t count = 0;
  const auto& items = receiver.sequence()->items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].same_as(bound.at(0)) && !equal(machine, items[i], bound.at(0))) continue;
    if (name == "index") return Value(static_cast<std::int64_t>(i));
    ++count;
  }
  if (name == "index") machine.fail("the value is not in the list");
  return Value(count);
}

Value call_loop_method(Machine& machine, const Loop& loop, const std::string& name,
                       Arguments arguments) {
  if (name != "cycle") machine.lacks("loop." + name);
  if (arguments.positional.empty()) machine.fail("loop.cycle() wants at least one value");
  return arguments.positional[loop.index0 % arguments.positional.size()];
}

}  // namespace

MethodKind find_method(const Value& value, std::string_view name) {
  if (value.text() != nullptr) {
    return is_text_method(name) ? MethodKind::safe : MethodKind::none;
  }
  if (value.dict() != nullptr) {
    if (is_one_of(name, {"get", "items", "keys", "values", "copy", "fromkeys"})) {
      return MethodKind::safe;
    }
    return is_one_of(name, {"clear", "pop", "popitem", "setdefault", "update"})
               ? MethodKind::changes
               : MethodKind::none;
  }
  if (value.loop() != nullptr) {
    return is_one_of(name, {"cycle", "changed"}) ? MethodKind::safe : MethodKind::none;
  }
  const Sequence* sequence = value.sequence();
  if (sequence == nullptr || !sequence->has_index()) return MethodKind::none;
  if (name == "count" || name == "index") return MethodKind::safe;
  if (sequence->form != Sequence::Form::list) return MethodKind::none;
  if (name == "copy") return MethodKind::safe;
  return is_one_of(name,
                   {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"})
             ? MethodKind::changes
             : MethodKind::none;
}

Value call_method(Machine& machine, const Method& method, Arguments arguments) {
  const Value& receiver = method.receiver;
  if (receiver.text() != nullptr) {
    return call_text_method(machine, receiver, method.name, std::move(arguments));
  }
  if (const Dict* dict = receiver.dict()) {
    return call_dict_method(machine, *dict, method.name, std::move(arguments));
  }
  if (const Loop* loop = receiver.loop()) {
    return call_loop_method(machine, *loop, method.name, std::move(arguments));
  }
  return call_list_method(machine, receiver, method.name, std::move(arguments));
}

}  // namespace physarum::text::jinja
