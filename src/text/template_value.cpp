#include "template_value.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

namespace physarum::text::jinja {

namespace {

/// One text for all keys that Python takes for equal: 1, 1.0 and True are one key.
void write_key(const Value& key, std::string& out) {
  std::int64_t integer = 0;
  if (const Text* text = key.text()) {
    out += 's';
    out += std::to_string(text->size());
    out += ':';
    out += text->bytes();
  } else if (key.to_integer(integer)) {
    out += 'i' + std::to_string(integer) + ';';
  } else if (const double* real = key.get<double>()) {
    constexpr double limit = 9007199254740992.0;  // up to here doubles count in ones
    if (std::floor(*real) == *real && std::abs(*real) <= limit) {
      out += 'i' + std::to_string(static_cast<std::int64_t>(*real)) + ';';
    } else {
      out += 'f' + std::to_string(std::hash<double>{}(*real)) + ';';
    }
  } else if (const Sequence* tuple = key.sequence()) {
    out += '(';
    for (const Value& item : tuple->items) write_key(item, out);
    out += ')';
  } else {
    out += key.is_none() ? 'n' : 'u';
  }
}

std::string key_text(const Value& key) {
  std::string out;
  write_key(key, out);
  return out;
}

}  // namespace

bool Value::to_integer(std::int64_t& out) const {
  if (const auto* integer = get<std::int64_t>()) {
    out = *integer;
    return true;
  }
  if (const bool* boolean = get<bool>()) {
    out = *boolean ? 1 : 0;
    return true;
  }
  return false;
}

double Value::to_double() const {
  std::int64_t integer = 0;
  if (to_integer(integer)) return static_cast<double>(integer);
  const double* real = get<double>();
  return real == nullptr ? 0.0 : *real;
}

std::string Value::type_name() const {
  if (const Sequence* values = sequence()) {
    static constexpr std::array names = {"list", "tuple", "range", "dict_items", "generator"};
    return names[static_cast<std::size_t>(values->form)];
  }
  static constexpr std::array names = {"Undefined", "NoneType", "bool",     "int",         "float",
                                       "str",       "list",     "dict",     "LoopContext", "method",
                                       "function",  "Macro",    "Namespace"};
  static_assert(names.size() == std::variant_size_v<Data>);
  return names[data_.index()];
}

std::size_t Value::depth() const {
  if (const Sequence* values = sequence()) return values->depth;
  if (const Dict* mapping = dict()) return mapping->depth();
  if (const Loop* context = loop()) return context->depth;
  if (const Method* bound = method()) return 1 + bound->receiver.depth();
  return 0;
}

bool Value::same_as(const Value& other) const {
  return std::visit(
      [&](const auto& mine) {
        using T = std::decay_t<decltype(mine)>;
        const T* theirs = other.get<T>();
        if constexpr (std::is_same_v<T, None>) {
          return theirs != nullptr;
        } else if constexpr (std::is_same_v<T, Undefined>) {
          return theirs != nullptr && mine.why == theirs->why;
        } else {
          return theirs != nullptr && mine == *theirs;
        }
      },
      data_);
}

void Dict::set(const Value& key, Value value) {
  depth_ = std::max({depth_, 1 + value.depth(), 1 + key.depth()});
  const auto [place, is_new] = index_.emplace(key_text(key), entries_.size());
  if (is_new) {
    entries_.emplace_back(key, std::move(value));
  } else {
    entries_[place->second].second = std::move(value);
  }
}

const Value* Dict::find(const Value& key) const {
  const auto found = index_.find(key_text(key));
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

const Value* Dict::find(std::string_view key) const {
  return find(Value(std::make_shared<const Text>(key)));
}

bool Dict::is_hashable(const Value& key) {
  std::size_t left = most_key_parts;
  return is_hashable(key, left);
}

bool Dict::is_hashable(const Value& key, std::size_t& left) {
  // Tuples that hold one tuple twice grow without bound while they take no memory.
  if (left == 0) return false;
  --left;
  if (key.is_number() || key.is_none() || key.text() != nullptr) return true;
  const Sequence* tuple = key.sequence();
  return tuple != nullptr && tuple->form == Sequence::Form::tuple &&
         std::all_of(tuple->items.begin(), tuple->items.end(),
                     [&left](const Value& part) { return is_hashable(part, left); });
}

}  // namespace physarum::text::jinja
