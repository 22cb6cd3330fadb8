#include "template_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "physarum/text/utf8.hpp"

#include "template_operators.hpp"
#include "template_print.hpp"
#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

std::string unicode_escape(unsigned unit) {
  std::array<char, 8> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "\\u%04x", unit & 0xFFFFU);
  return buffer.data();
}

/// The escape of a character, or nothing if it stands for itself.
std::string escape_of(char32_t character, bool ascii_only) {
  switch (character) {
    case U'"':
      return "\\\"";
    case U'\\':
      return "\\\\";
    case U'\n':
      return "\\n";
    case U'\r':
      return "\\r";
    case U'\t':
      return "\\t";
    case U'\f':
      return "\\f";
    case U'\b':
      return "\\b";
    default:
      break;
  }
  if (character < 0x20) return unicode_escape(static_cast<unsigned>(character));
  if (!ascii_only || character < 0x7F) return "";
  if (character < 0x10000) return unicode_escape(static_cast<unsigned>(character));
  const auto offset = static_cast<unsigned>(character) - 0x10000U;
  return unicode_escape(0xD800U + (offset >> 10U)) + unicode_escape(0xDC00U + (offset & 0x3FFU));
}

class Dumper {
 public:
  Dumper(Machine& machine, const JsonStyle& style) : machine_(machine), style_(style) {}

  void dump(const Value& value, std::size_t level) {
    machine_.step();
    if (const Text* text = value.text()) {
      dump_text(*text);
    } else if (value.is_none()) {
      out_.append("null");
    } else if (value.is_number()) {
      out_.append(number(value));
    } else if (const Dict* dict = value.dict()) {
      dump_dict(*dict, level);
    } else if (const Sequence* sequence = value.sequence()) {
      if (sequence->form != Sequence::Form::list && sequence->form != Sequence::Form::tuple) {
        refuse_type(value);
      }
      dump_list(*sequence, level);
    } else {
      refuse_type(value);
    }
    account();
  }

  Text take() { return std::move(out_); }

 private:
  [[noreturn]] void refuse_type(const Value& value) {
    machine_.fail("JSON has no value for " + value.type_name());
  }

  void account() {
    machine_.charge(out_.cost() - charged_);
    charged_ = out_.cost();
  }

  static std::string number(const Value& value) {
    if (const bool* boolean = value.get<bool>()) return *boolean ? "true" : "false";
    std::int64_t integer = 0;
    if (value.to_integer(integer)) return std::to_string(integer);
    const double real = value.to_double();
    if (std::isnan(real)) return "NaN";
    if (std::isinf(real)) return real < 0 ? "-Infinity" : "Infinity";
    return print_float(real);
  }

  void dump_text(const Text& text) {
    machine_.work(text.size());
    const std::string& bytes = text.bytes();
    out_.append("\"");
    std::size_t plain = 0;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto [character, length] = character_at(bytes, at);
      const std::string escape = escape_of(character, style_.ascii_only);
      if (!escape.empty()) {
        out_.append(text, plain, at);
        out_.append_like(escape, text, at);
        plain = at + length;
      }
      at += length;
    }
    out_.append(text, plain, bytes.size());
    out_.append("\"");
  }

  void new_line(std::size_t level) {
    if (!style_.indent) return;
    machine_.charge(level * style_.indent->size());
    out_.append("\n");
    for (std::size_t i = 0; i < level; ++i) out_.append(*style_.indent);
  }

  void dump_list(const Sequence& sequence, std::size_t level) {
    if (sequence.items.empty()) return out_.append("[]");
    out_.append("[");
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i != 0) out_.append(style_.item_separator);
      new_line(level + 1);
      dump(sequence.items[i], level + 1);
    }
    new_line(level);
    out_.append("]");
  }

  void dump_key(const Value& key) {
    if (const Text* text = key.text()) return dump_text(*text);
    if (!key.is_number() && !key.is_none()) {
      machine_.fail("JSON has no key for " + key.type_name());
    }
    out_.append("\"" + (key.is_none() ? "null" : number(key)) + "\"");
  }

  void dump_dict(const Dict& dict, std::size_t level) {
    if (dict.size() == 0) return out_.append("{}");
    machine_.charge(dict.size() * sizeof(void*));
    std::vector<const Dict::Entry*> entries;
    for (const auto& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sorted_keys) {
      std::stable_sort(entries.begin(), entries.end(), [&](const auto* left, const auto* right) {
        return less(machine_, left->first, right->first);
      });
    }
    out_.append("{");
    bool is_first = true;
    for (const auto* entry : entries) {
      if (!is_first) out_.append(style_.item_separator);
      is_first = false;
      new_line(level + 1);
      dump_key(entry->first);
      out_.append(style_.key_separator);
      dump(entry->second, level + 1);
    }
    new_line(level);
    out_.append("}");
  }

  Machine& machine_;
  const JsonStyle& style_;
  Text out_;
  std::size_t charged_ = Text().cost();
};

Value text_from_json(Machine& machine, const std::string& bytes, Origin origin) {
  if (const auto bad = find_invalid_utf8(bytes)) {
    machine.fail("a text of the conversation is not UTF-8 at its byte " + std::to_string(*bad),
                 "save it as UTF-8");
  }
  return machine.text(bytes, origin);
}

Value nested_from_json(Machine& machine, const nlohmann::ordered_json& json, Origin origin,
                       std::size_t depth) {
  if (depth > machine.limits().value_depth) {
    machine.fail(
        "the conversation is nested deeper than " + std::to_string(machine.limits().value_depth),
        "flatten it");
  }
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::null:
      return Value();
    case Type::boolean:
      return Value(json.get<bool>());
    case Type::number_integer:
      return Value(json.get<std::int64_t>());
    case Type::number_unsigned:
      if (json.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
        machine.fail("the conversation holds an integer beyond 64 bits", "write it as a text");
      }
      return Value(json.get<std::int64_t>());
    case Type::number_float:
      return Value(json.get<double>());
    case Type::string:
      return text_from_json(machine, json.get_ref<const std::string&>(), origin);
    case Type::array: {
      std::vector<Value> items;
      for (const auto& item : json) {
        items.push_back(nested_from_json(machine, item, origin, depth + 1));
      }
      return machine.list(std::move(items));
    }
    case Type::object: {
      Dict dict;
      for (const auto& [key, value] : json.items()) {
        dict.set(text_from_json(machine, key, origin),
                 nested_from_json(machine, value, origin, depth + 1));
      }
      return machine.dict(std::move(dict));
    }
    default:
      machine.fail("the conversation holds a value that JSON has not");
  }
}

}  // namespace

Text dump_json(Machine& machine, const Value& value, const JsonStyle& style) {
  Dumper dumper(machine, style);
  dumper.dump(value, 0);
  return dumper.take();
}

Value from_json(Machine& machine, const nlohmann::ordered_json& json, Origin origin) {
  return nested_from_json(machine, json, origin, 0);
}

}  // namespace physarum::text::jinja
