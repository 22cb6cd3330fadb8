#include "template_machine.hpp"

#include <algorithm>

#include "template_operators.hpp"

namespace physarum::text::jinja {

void Machine::fail(std::string_view what) const {
  fail(what, "mend the template, or the conversation if it has another form than expected");
}

void Machine::fail(std::string_view what, std::string_view mend) const {
  refuse(name_, at, what, mend);
}

void Machine::lacks(std::string_view what) const {
  fail(std::string(what) + " is not supported in chat templates here",
       "write the template without it; docs/chat_templates.md lists what there is");
}

void Machine::step(std::size_t count) {
  if (count > limits_.steps - steps_) {
    fail("the template takes more than " + std::to_string(limits_.steps) + " steps",
         "shorten its loops or the conversation");
  }
  steps_ += count;
}

void Machine::charge(std::size_t bytes) {
  if (bytes > limits_.value_bytes - bytes_) {
    fail("the template makes values of more than " + std::to_string(limits_.value_bytes) + " bytes",
         "shorten its loops or the conversation");
  }
  bytes_ += bytes;
}

void Machine::check_depth(std::size_t depth) const {
  if (depth > limits_.value_depth) {
    fail("values are nested deeper than " + std::to_string(limits_.value_depth),
         "flatten the data");
  }
}

Value Machine::text(Text text) {
  charge(text.cost());
  work(text.size());
  return Value(std::make_shared<const Text>(std::move(text)));
}

Value Machine::text(std::string_view bytes, Origin origin) { return text(Text(bytes, origin)); }

Value Machine::list(std::vector<Value> items, Sequence::Form form) {
  auto sequence = std::make_shared<Sequence>();
  charge(sizeof(Sequence) + items.size() * sizeof(Value));
  step(items.size());
  for (const Value& item : items) sequence->depth = std::max(sequence->depth, 1 + item.depth());
  check_depth(sequence->depth);
  sequence->form = form;
  sequence->items = std::move(items);
  return Value(std::move(sequence));
}

Value Machine::dict(Dict entries) {
  constexpr std::size_t entry_bytes = 128;  // two values, and the index
  charge(sizeof(Dict) + entries.size() * entry_bytes);
  step(entries.size());
  for (const auto& [key, value] : entries.entries()) {
    if (const Text* text = key.text()) charge(text->size());  // the index has a copy
  }
  check_depth(entries.depth());
  return Value(std::make_shared<const Dict>(std::move(entries)));
}

Value Machine::undefined(std::string why) {
  charge(why.size() + sizeof(std::string));
  return Value(Undefined{std::make_shared<const std::string>(std::move(why))});
}

Bound::Bound(Machine& machine, std::string_view callee, Arguments arguments,
             std::initializer_list<std::string_view> names)
    : machine_(machine), callee_(callee), names_(names), values_(names.size()) {
  if (arguments.positional.size() > names_.size()) {
    machine_.fail(callee_ + "() takes at most " + std::to_string(names_.size()) + " arguments, " +
                  std::to_string(arguments.positional.size()) + " are given");
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    values_[i] = std::move(arguments.positional[i]);
  }
  for (auto& [name, value] : arguments.named) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) {
      machine_.fail(callee_ + "() has no parameter '" + name + "'");
    }
    auto& slot = values_[static_cast<std::size_t>(found - names_.begin())];
    if (slot) machine_.fail(callee_ + "() got '" + name + "' twice");
    slot = std::move(value);
  }
}

const Value& Bound::at(std::size_t parameter) const {
  if (!values_[parameter]) {
    machine_.fail(callee_ + "() lacks its argument '" + std::string(names_[parameter]) + "'");
  }
  return *values_[parameter];
}

bool Bound::flag(std::size_t parameter, bool otherwise) const {
  const Value* value = find(parameter);
  return value == nullptr ? otherwise : is_true(*value);
}

std::int64_t Bound::integer(std::size_t parameter, std::int64_t otherwise) const {
  const Value* value = find(parameter);
  std::int64_t number = otherwise;
  if (value != nullptr && !value->to_integer(number)) {
    machine_.fail(callee_ + "(): '" + std::string(names_[parameter]) + "' must be an integer, is " +
                  value->type_name());
  }
  return number;
}

std::string Bound::text(std::size_t parameter, std::string_view otherwise) const {
  const Value* value = find(parameter);
  if (value == nullptr) return std::string(otherwise);
  if (value->text() == nullptr) {
    machine_.fail(callee_ + "(): '" + std::string(names_[parameter]) + "' must be a string, is " +
                  value->type_name());
  }
  return value->text()->bytes();
}

}  // namespace physarum::text::jinja
