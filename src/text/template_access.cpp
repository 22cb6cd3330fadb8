#include <algorithm>

#include "template_methods.hpp"
#include "template_operators.hpp"
#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

std::string in_quotes(std::string_view name) {
  constexpr std::size_t longest = 80;
  return "'" + std::string(name.substr(0, longest)) + (name.size() > longest ? "...'" : "'");
}

Value missing_attribute(Machine& machine, const Value& value, std::string_view name) {
  return machine.undefined("'" + value.type_name() + " object' has no attribute " +
                           in_quotes(name));
}

Value loop_attribute(Machine& machine, const Value& value, const Loop& loop,
                     const std::string& name) {
  const std::size_t length = loop.items->size();
  const auto integer = [](std::size_t number) { return Value(static_cast<std::int64_t>(number)); };
  if (name == "index") return integer(loop.index0 + 1);
  if (name == "index0") return integer(loop.index0);
  if (name == "revindex") return integer(length - loop.index0);
  if (name == "revindex0") return integer(length - loop.index0 - 1);
  if (name == "first") return Value(loop.index0 == 0);
  if (name == "last") return Value(loop.index0 + 1 == length);
  if (name == "length") return integer(length);
  if (name == "depth") return integer(1);  // only recursive loops go deeper
  if (name == "depth0") return integer(0);
  if (name == "previtem") {
    if (loop.index0 == 0) return machine.undefined("there is no previous item");
    return (*loop.items)[loop.index0 - 1];
  }
  if (name == "nextitem") {
    if (loop.index0 + 1 == length) return machine.undefined("there is no next item");
    return (*loop.items)[loop.index0 + 1];
  }
  return missing_attribute(machine, value, name);
}

/// The item if Python finds one by `value[key]`.
std::optional<Value> find_item(Machine& machine, const Value& value, const Value& key) {
  if (const Dict* dict = value.dict()) {
    if (!Dict::is_hashable(key)) return std::nullopt;
    if (key.text() != nullptr) machine.work(key.text()->size());
    const Value* found = dict->find(key);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }
  std::int64_t index = 0;
  if (!key.to_integer(index)) return std::nullopt;
  const auto place = [&](std::size_t size) -> std::optional<std::size_t> {
    const std::int64_t from_begin = index < 0 ? index + static_cast<std::int64_t>(size) : index;
    if (from_begin < 0 || from_begin >= static_cast<std::int64_t>(size)) return std::nullopt;
    return static_cast<std::size_t>(from_begin);
  };
  if (const Text* text = value.text()) {
    machine.work(text->size());
    if (is_ascii(text->bytes())) {
      const auto at = place(text->size());
      if (!at) return std::nullopt;
      return machine.text(text->substring(*at, *at + 1));
    }
    const auto offsets = character_offsets(text->bytes());
    const auto at = place(offsets.size() - 1);
    if (!at) return std::nullopt;
    return machine.text(text->substring(offsets[*at], offsets[*at + 1]));
  }
  const Sequence* sequence = value.sequence();
  if (sequence == nullptr || !sequence->has_index()) return std::nullopt;
  const auto at = place(sequence->items.size());
  return at ? std::optional<Value>(sequence->items[*at]) : std::nullopt;
}

/// The indices that a slice of something of this size picks, in order.
std::vector<std::size_t> picked(Machine& machine, std::size_t size, const SliceBounds& bounds) {
  const std::int64_t step = bounds.step.value_or(1);
  if (step == 0) machine.fail("the step of a slice is zero");
  const auto length = static_cast<std::int64_t>(size);
  const std::int64_t low = step < 0 ? -1 : 0;
  const std::int64_t high = step < 0 ? length - 1 : length;
  const auto clamp = [&](std::optional<std::int64_t> bound, std::int64_t otherwise) {
    if (!bound) return otherwise;
    if (*bound < 0) return *bound < -length ? low : std::max(*bound + length, low);
    return std::min(*bound, high);
  };
  const std::int64_t start = clamp(bounds.start, step < 0 ? high : low);
  const std::int64_t stop = clamp(bounds.stop, step < 0 ? low : high);
  std::vector<std::size_t> indices;
  for (std::int64_t at = start; step < 0 ? at > stop : at < stop;) {
    indices.push_back(static_cast<std::size_t>(at));
    if (step > 0 ? step >= stop - at : step <= stop - at) break;
    at += step;
  }
  return indices;
}

Value slice_text(Machine& machine, const Text& text, const SliceBounds& bounds) {
  machine.charge(text.size() * 2 * sizeof(std::size_t));
  machine.work(text.size() * 16);
  const auto offsets = character_offsets(text.bytes());
  const auto indices = picked(machine, offsets.size() - 1, bounds);
  Text slice;
  if (bounds.step.value_or(1) == 1) {
    if (!indices.empty())
      slice = text.substring(offsets[indices.front()], offsets[indices.back() + 1]);
  } else {
    for (const std::size_t index : indices) slice.append(text, offsets[index], offsets[index + 1]);
  }
  if (text.is_markup()) slice.set_markup();
  return machine.text(std::move(slice));
}

}  // namespace

Value get_attribute(Machine& machine, const Value& value, const std::string& name) {
  machine.step();
  if (const auto* undefined = value.get<Undefined>()) machine.fail(*undefined->why);
  if (auto* const* space = value.get<Namespace*>()) {
    const auto found = (*space)->attributes.find(name);
    if (found == (*space)->attributes.end()) return missing_attribute(machine, value, name);
    return found->second;
  }
  switch (find_method(value, name)) {
    case MethodKind::none:
      break;
    case MethodKind::safe:
      machine.charge(sizeof(Method) + name.size());
      return Value(std::make_shared<const Method>(Method{value, name}));
    case MethodKind::changes:
      return machine.undefined("access to attribute " + in_quotes(name) + " of '" +
                               value.type_name() + "' object is unsafe");
  }
  if (const Loop* loop = value.loop()) return loop_attribute(machine, value, *loop, name);
  if (const Dict* dict = value.dict()) {
    if (const Value* found = dict->find(name)) return *found;
  }
  return missing_attribute(machine, value, name);
}

Value get_item(Machine& machine, const Value& value, const Value& key) {
  machine.step();
  if (const auto* undefined = value.get<Undefined>()) machine.fail(*undefined->why);
  if (auto item = find_item(machine, value, key)) return *item;
  if (const Text* name = key.text()) return get_attribute(machine, value, name->bytes());
  return machine.undefined(value.type_name() + " object has no element of that key or index");
}

Value get_slice(Machine& machine, const Value& value, const SliceBounds& bounds) {
  machine.step();
  if (const auto* undefined = value.get<Undefined>()) machine.fail(*undefined->why);
  if (const Text* text = value.text()) return slice_text(machine, *text, bounds);
  const Sequence* sequence = value.sequence();
  if (sequence == nullptr || !sequence->has_index()) {
    machine.fail(value.type_name() + " has no slices");
  }
  machine.charge(sequence->items.size() * sizeof(std::size_t));
  machine.step(sequence->items.size());
  std::vector<Value> items;
  for (const std::size_t index : picked(machine, sequence->items.size(), bounds)) {
    items.push_back(sequence->items[index]);
  }
  return machine.list(std::move(items), sequence->form);
}

std::vector<Value> iterate(Machine& machine, const Value& value) {
  std::vector<Value> items;
  if (value.is_undefined()) return items;
  if (Sequence* sequence = value.sequence()) {
    if (sequence->is_used_up) return items;
    sequence->is_used_up = sequence->form == Sequence::Form::generator;
    machine.charge(sequence->items.size() * sizeof(Value));
    machine.step(sequence->items.size());
    return sequence->items;
  }
  if (const Dict* dict = value.dict()) {
    machine.charge(dict->size() * sizeof(Value));
    machine.step(dict->size());
    for (const auto& [key, entry] : dict->entries()) items.push_back(key);
    return items;
  }
  if (const Text* text = value.text()) {
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t length = character_at(text->bytes(), at).second;
      machine.charge(sizeof(Value));
      items.push_back(machine.text(text->substring(at, at + length)));
      at += length;
    }
    return items;
  }
  machine.fail(value.type_name() + " cannot be walked through");
}

std::size_t length_of(Machine& machine, const Value& value) {
  if (value.is_undefined()) return 0;
  if (const Text* text = value.text()) {
    machine.work(text->size());
    return count_characters(text->bytes());
  }
  if (const Dict* dict = value.dict()) return dict->size();
  if (const Loop* loop = value.loop()) return loop->items->size();
  const Sequence* sequence = value.sequence();
  if (sequence == nullptr || sequence->form == Sequence::Form::generator) {
    machine.fail(value.type_name() + " has no length");
  }
  return sequence->items.size();
}

}  // namespace physarum::text::jinja
