#include <algorithm>

#include "template_filters.hpp"
#include "template_operators.hpp"
#include "template_print.hpp"
#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

using Form = Sequence::Form;

Value length(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "length", std::move(arguments), {});
  return Value(static_cast<std::int64_t>(length_of(machine, input)));
}

Value first(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "first", std::move(arguments), {});
  const auto items = iterate(machine, input);
  return items.empty() ? machine.undefined("there is no first item") : items.front();
}

Value last(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "last", std::move(arguments), {});
  const Sequence* sequence = input.sequence();
  if (sequence != nullptr && sequence->form == Form::generator) {
    machine.fail("last: what a filter yields cannot be walked backwards");
  }
  const auto items = iterate(machine, input);
  return items.empty() ? machine.undefined("there is no last item") : items.back();
}

Value join(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "join", std::move(arguments), {"d", "attribute"});
  const Text separator = bound.find(0) == nullptr ? Text() : to_text(machine, *bound.find(0));
  Text joined;
  bool is_first = true;
  for (const Value& item : iterate(machine, input)) {
    const Value* attribute = bound.find(1);
    machine.charge(separator.cost());
    if (!is_first) joined.append(separator);
    is_first = false;
    joined.append(to_text(machine, attribute == nullptr ? item : pick(machine, item, *attribute)));
  }
  return machine.text(std::move(joined));
}

Value list(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "list", std::move(arguments), {});
  return machine.list(iterate(machine, input));
}

Value items(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "items", std::move(arguments), {});
  std::vector<Value> pairs;
  if (const Dict* dict = input.dict()) {
    for (const auto& [key, value] : dict->entries()) pairs.push_back(machine.tuple({key, value}));
  } else if (!input.is_undefined()) {
    machine.fail("items wants a mapping, not " + input.type_name());
  }
  return machine.list(std::move(pairs), Form::generator);
}

Value default_value(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "default", std::move(arguments), {"default_value", "boolean"});
  if (!input.is_undefined() && !(bound.flag(1, false) && !is_true(input))) return input;
  return bound.find(0) == nullptr ? machine.text("") : *bound.find(0);
}

Value reverse(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "reverse", std::move(arguments), {});
  if (input.text() != nullptr) return get_slice(machine, input, {{}, {}, -1});
  auto values = iterate(machine, input);
  std::reverse(values.begin(), values.end());
  return machine.list(std::move(values), Form::generator);
}

struct Keyed {
  Value key;
  Value item;
};

void sort_keyed(Machine& machine, std::vector<Keyed>& values, bool descending) {
  std::stable_sort(values.begin(), values.end(), [&](const Keyed& left, const Keyed& right) {
    return descending ? less(machine, right.key, left.key) : less(machine, left.key, right.key);
  });
}

Value items_of(Machine& machine, std::vector<Keyed> values) {
  std::vector<Value> sorted;
  for (auto& value : values) sorted.push_back(std::move(value.item));
  return machine.list(std::move(sorted));
}

/// The values that a comma-separated list of attributes picks.
Value sort_key(Machine& machine, const Value& item, const Value* attribute, bool by_case) {
  const auto one = [&](const Value& path) {
    const Value value = pick(machine, item, path);
    return by_case ? value : ignore_case(machine, value);
  };
  if (attribute == nullptr || attribute->text() == nullptr) {
    return one(attribute == nullptr ? Value() : *attribute);
  }
  std::vector<Value> keys;
  std::string_view rest = attribute->text()->bytes();
  while (true) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    keys.push_back(one(machine.text(rest.substr(0, comma))));
    if (comma == rest.size()) return machine.list(std::move(keys));
    rest.remove_prefix(comma + 1);
  }
}

Value sort(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "sort", std::move(arguments),
                    {"reverse", "case_sensitive", "attribute"});
  std::vector<Keyed> values;
  for (const Value& item : iterate(machine, input)) {
    values.push_back({sort_key(machine, item, bound.find(2), bound.flag(1, false)), item});
  }
  sort_keyed(machine, values, bound.flag(0, false));
  return items_of(machine, std::move(values));
}

Value dictsort(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "dictsort", std::move(arguments), {"case_sensitive", "by", "reverse"});
  const std::string by = bound.text(1, "key");
  if (by != "key" && by != "value") machine.fail("dictsort: 'by' must be key or value");
  if (const auto* undefined = input.get<Undefined>()) machine.fail(*undefined->why);
  if (input.dict() == nullptr) machine.fail("dictsort wants a mapping, not " + input.type_name());
  std::vector<Keyed> values;
  for (const auto& [key, value] : input.dict()->entries()) {
    const Value& compared = by == "key" ? key : value;
    values.push_back({bound.flag(0, false) ? compared : ignore_case(machine, compared),
                      machine.tuple({key, value})});
  }
  sort_keyed(machine, values, bound.flag(2, false));
  return items_of(machine, std::move(values));
}

template <bool smallest>
Value extreme(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, smallest ? "min" : "max", std::move(arguments),
                    {"case_sensitive", "attribute"});
  std::optional<Keyed> best;
  for (const Value& item : iterate(machine, input)) {
    Value key = pick(machine, item, bound.find(1) == nullptr ? Value() : *bound.find(1));
    if (!bound.flag(0, false)) key = ignore_case(machine, key);
    const bool better =
        !best || (smallest ? less(machine, key, best->key) : less(machine, best->key, key));
    if (better) best = Keyed{key, item};
  }
  return best ? best->item : machine.undefined("there is no item to choose from");
}

Value sum(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "sum", std::move(arguments), {"attribute", "start"});
  Value total = bound.find(1) == nullptr ? Value(std::int64_t{0}) : *bound.find(1);
  if (total.text() != nullptr) machine.fail("sum does not join strings");
  for (const Value& item : iterate(machine, input)) {
    total = add(machine, total,
                pick(machine, item, bound.find(0) == nullptr ? Value() : *bound.find(0)));
  }
  return total;
}

Value unique(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "unique", std::move(arguments), {"case_sensitive", "attribute"});
  Dict seen;
  std::vector<Value> kept;
  for (const Value& item : iterate(machine, input)) {
    Value key = pick(machine, item, bound.find(1) == nullptr ? Value() : *bound.find(1));
    if (!bound.flag(0, false)) key = ignore_case(machine, key);
    if (!Dict::is_hashable(key)) machine.fail("unique: " + key.type_name() + " cannot be a key");
    machine.charge(256 + (key.text() == nullptr ? 0 : key.text()->size()));  // one of the table
    if (seen.find(key) != nullptr) continue;
    seen.set(key, Value());
    kept.push_back(item);
  }
  return machine.list(std::move(kept), Form::generator);
}

Value batch(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "batch", std::move(arguments), {"linecount", "fill_with"});
  (void)bound.at(0);
  const std::int64_t size = bound.integer(0, 1);
  if (size < 1) machine.lacks("a batch of no items");
  const auto count = static_cast<std::size_t>(size);
  std::vector<Value> rows;
  std::vector<Value> row;
  for (const Value& item : iterate(machine, input)) {
    if (row.size() == count) {
      rows.push_back(machine.list(std::move(row)));
      row.clear();
    }
    row.push_back(item);
  }
  if (!row.empty()) {
    const Value* fill = bound.find(1);
    if (fill != nullptr && !fill->is_none() && row.size() < count) {
      if (count > machine.limits().value_bytes / sizeof(Value)) machine.fail("batch: too large");
      machine.charge(count * sizeof(Value));
      row.resize(count, *fill);
    }
    rows.push_back(machine.list(std::move(row)));
  }
  return machine.list(std::move(rows), Form::generator);
}

}  // namespace

const FilterTable& sequence_filters() {
  static const FilterTable table = {
      {"batch", batch},       {"count", length},
      {"d", default_value},   {"default", default_value},
      {"dictsort", dictsort}, {"first", first},
      {"items", items},       {"join", join},
      {"last", last},         {"length", length},
      {"list", list},         {"max", extreme<false>},
      {"min", extreme<true>}, {"reverse", reverse},
      {"sort", sort},         {"sum", sum},
      {"unique", unique},
  };
  return table;
}

}  // namespace physarum::text::jinja
