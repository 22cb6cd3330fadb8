#include <algorithm>
#include <limits>

#include "template_operators.hpp"
#include "template_search.hpp"

namespace physarum::text::jinja {

namespace {

/// 64-bit integers and doubles compare exactly in it, as in Python.
long double wide(const Value& number) {
  std::int64_t integer = 0;
  static_assert(std::numeric_limits<long double>::digits >= 64);
  if (number.to_integer(integer)) return static_cast<long double>(integer);
  return static_cast<long double>(number.to_double());
}

int sign_of(int difference) { return difference < 0 ? -1 : (difference > 0 ? 1 : 0); }

bool equal_sequences(Machine& machine, const Sequence& left, const Sequence& right) {
  if (!left.has_index() || left.form != right.form) return false;
  if (left.items.size() != right.items.size()) return false;
  for (std::size_t i = 0; i < left.items.size(); ++i) {
    if (!equal(machine, left.items[i], right.items[i])) return false;
  }
  return true;
}

bool equal_dicts(Machine& machine, const Dict& left, const Dict& right) {
  if (left.size() != right.size()) return false;
  for (const auto& [key, value] : left.entries()) {
    const Value* other = right.find(key);
    if (other == nullptr || !equal(machine, value, *other)) return false;
  }
  return true;
}

}  // namespace

bool is_true(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (const bool* boolean = value.get<bool>()) return *boolean;
  if (value.is_number()) return value.to_double() != 0;
  if (const Text* text = value.text()) return !text->empty();
  if (const Dict* dict = value.dict()) return dict->size() != 0;
  const Sequence* sequence = value.sequence();
  return sequence == nullptr || sequence->form == Sequence::Form::generator ||
         !sequence->items.empty();
}

bool equal(Machine& machine, const Value& left, const Value& right) {
  machine.step();
  if (left.is_number() && right.is_number()) return wide(left) == wide(right);
  if (left.text() != nullptr && right.text() != nullptr) {
    machine.work(std::min(left.text()->size(), right.text()->size()));
    return left.text()->bytes() == right.text()->bytes();
  }
  if (left.is_undefined() || left.is_none()) {
    return left.is_undefined() ? right.is_undefined() : right.is_none();
  }
  if (left.sequence() != nullptr && right.sequence() != nullptr) {
    if (left.sequence() == right.sequence()) return true;
    return equal_sequences(machine, *left.sequence(), *right.sequence());
  }
  if (left.dict() != nullptr && right.dict() != nullptr) {
    return equal_dicts(machine, *left.dict(), *right.dict());
  }
  return left.same_as(right);
}

std::optional<int> compare(Machine& machine, const Value& left, const Value& right) {
  machine.step();
  if (left.is_number() && right.is_number()) {
    const long double a = wide(left);
    const long double b = wide(right);
    if (a != a || b != b) return std::nullopt;
    return a < b ? -1 : (a > b ? 1 : 0);
  }
  if (left.text() != nullptr && right.text() != nullptr) {
    machine.work(std::min(left.text()->size(), right.text()->size()));
    // The order of UTF-8 bytes is the order of code points.
    return sign_of(left.text()->bytes().compare(right.text()->bytes()));
  }
  const Sequence* first = left.sequence();
  const Sequence* second = right.sequence();
  if (first != nullptr && second != nullptr && first->form == second->form &&
      (first->form == Sequence::Form::list || first->form == Sequence::Form::tuple)) {
    const std::size_t common = std::min(first->items.size(), second->items.size());
    for (std::size_t i = 0; i < common; ++i) {
      if (equal(machine, first->items[i], second->items[i])) continue;
      return compare(machine, first->items[i], second->items[i]);
    }
    return first->items.size() < second->items.size()   ? -1
           : first->items.size() > second->items.size() ? 1
                                                        : 0;
  }
  for (const Value* value : {&left, &right}) {
    if (const auto* undefined = value->get<Undefined>()) machine.fail(*undefined->why);
  }
  machine.fail(left.type_name() + " and " + right.type_name() + " have no order");
}

bool less(Machine& machine, const Value& left, const Value& right) {
  const auto order = compare(machine, left, right);
  return order && *order < 0;
}

bool contains(Machine& machine, const Value& haystack, const Value& needle) {
  machine.step();
  if (const Text* text = haystack.text()) {
    if (needle.text() == nullptr) {
      machine.fail("'in' a string wants a string before it, not " + needle.type_name());
    }
    return find_text(machine, text->bytes(), needle.text()->bytes()) != std::string::npos;
  }
  if (const Dict* dict = haystack.dict()) {
    if (!Dict::is_hashable(needle)) machine.fail(needle.type_name() + " cannot be a key");
    if (needle.text() != nullptr) machine.work(needle.text()->size());
    return dict->find(needle) != nullptr;
  }
  for (const Value& item : iterate(machine, haystack)) {
    if (item.same_as(needle) || equal(machine, item, needle)) return true;
  }
  return false;
}

}  // namespace physarum::text::jinja
