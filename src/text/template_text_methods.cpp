#include <algorithm>
#include <functional>
#include <unordered_map>

#include <utf8proc.h>

#include "template_methods.hpp"
#include "template_operators.hpp"
#include "template_print.hpp"
#include "template_search.hpp"
#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

/// One call of a method of str.
class Call {
 public:
  Call(Machine& machine, const Text& text, const std::string& name, Arguments arguments)
      : machine_(machine),
        text_(text),
        bytes_(text.bytes()),
        name_(name),
        arguments_(std::move(arguments)) {}

  Value strip(Ends ends) {
    const Bound bound = bind({"chars"});
    const Value* set = bound.find(0);
    const auto [begin, end] = set == nullptr || set->is_none()
                                  ? strip_space(bytes_, ends)
                                  : strip_set(bytes_, bound.text(0, ""), ends);
    return machine_.text(text_.substring(begin, end));
  }

  Value split(Ends from) {
    const Bound bound = bind({"sep", "maxsplit"});
    const std::int64_t most = bound.integer(1, -1);
    const Value* separator = bound.find(0);
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    if (separator == nullptr || separator->is_none()) {
      parts = from == Ends::left ? split_space(most) : split_space_from_right(most);
    } else {
      const std::string wanted = bound.text(0, "");
      if (wanted.empty()) machine_.fail(name_ + "(): the separator is empty");
      parts = from == Ends::left ? split_at(wanted, most) : split_at_from_right(wanted, most);
    }
    return list_of(parts);
  }

  Value starts_or_ends(bool at_start) {
    const Bound bound = bind({"prefix", "start", "end"});
    const auto [begin, end] = range(bound);
    const bool is_range = begin <= end;
    const std::string_view part = is_range ? bytes_.substr(begin, end - begin) : std::string_view();
    const auto fits = [&](const Value& wanted) {
      if (wanted.text() == nullptr) {
        machine_.fail(name_ + "() wants a string or a tuple of strings, not " + wanted.type_name());
      }
      const std::string& text = wanted.text()->bytes();
      return is_range && (at_start ? part.starts_with(text) : part.ends_with(text));
    };
    const Sequence* several = bound.at(0).sequence();
    if (several == nullptr || several->form != Sequence::Form::tuple)
      return Value(fits(bound.at(0)));
    return Value(std::any_of(several->items.begin(), several->items.end(), fits));
  }

  Value replace() {
    const Bound bound = bind({"old", "new", "count"});
    (void)bound.text(0, "");
    (void)bound.text(1, "");
    return keep_markup(replace_all(machine_, text_, *bound.at(0).text(), *bound.at(1).text(),
                                   bound.integer(2, -1)));
  }

  Value find(bool from_left, bool must_find) {
    const Bound bound = bind({"sub", "start", "end"});
    const std::string wanted = (void(bound.at(0)), bound.text(0, ""));
    const auto [begin, end] = range(bound);
    std::size_t found = std::string_view::npos;
    if (begin <= end) {
      const std::string_view part = bytes_.substr(begin, end - begin);
      found = from_left ? find_text(machine_, part, wanted)
                        : find_text_backwards(machine_, part, wanted, part.size());
    }
    if (found == std::string_view::npos) {
      if (must_find) machine_.fail(name_ + "(): the text is not found");
      return Value(std::int64_t{-1});
    }
    return Value(static_cast<std::int64_t>(count_characters(bytes_.substr(0, begin + found))));
  }

  Value count() {
    const Bound bound = bind({"sub", "start", "end"});
    const std::string wanted = (void(bound.at(0)), bound.text(0, ""));
    const auto [begin, end] = range(bound);
    if (begin > end) return Value(std::int64_t{0});
    const std::string_view part = bytes_.substr(begin, end - begin);
    if (wanted.empty()) return Value(static_cast<std::int64_t>(count_characters(part)) + 1);
    std::int64_t found = 0;
    for (std::size_t at = find_text(machine_, part, wanted); at != std::string_view::npos;
         ++found) {
      at = find_text(machine_, part, wanted, at + wanted.size());
    }
    return Value(found);
  }

  Value join() {
    const Bound bound = bind({"iterable"});
    Text joined;
    bool is_first = true;
    for (const Value& item : iterate(machine_, bound.at(0))) {
      if (item.text() == nullptr) {
        machine_.fail("join() wants strings, not " + item.type_name());
      }
      machine_.charge(item.text()->cost() + text_.cost());
      if (!is_first) joined.append(text_);
      joined.append(*item.text());
      is_first = false;
    }
    return keep_markup(std::move(joined));
  }

  Value lines() {
    const Bound bound = bind({"keepends"});
    if (bound.flag(0, false)) machine_.lacks("splitlines(keepends=True)");
    return list_of(split_lines(bytes_));
  }

  Value partition(bool from_left) {
    const Bound bound = bind({"sep"});
    const std::string separator = (void(bound.at(0)), bound.text(0, ""));
    if (separator.empty()) machine_.fail(name_ + "(): the separator is empty");
    const std::size_t at = from_left
                               ? find_text(machine_, bytes_, separator)
                               : find_text_backwards(machine_, bytes_, separator, bytes_.size());
    const Value whole = machine_.text(text_);
    const Value empty = machine_.text("");
    if (at == std::string_view::npos) {
      return machine_.tuple(from_left ? std::vector<Value>{whole, empty, empty}
                                      : std::vector<Value>{empty, empty, whole});
    }
    return machine_.tuple({part(0, at), bound.at(0), part(at + separator.size(), bytes_.size())});
  }

  Value remove(bool at_start) {
    const Bound bound = bind({at_start ? "prefix" : "suffix"});
    const std::string wanted = (void(bound.at(0)), bound.text(0, ""));
    const bool fits = at_start ? bytes_.starts_with(wanted) : bytes_.ends_with(wanted);
    if (!fits) return machine_.text(text_);
    return at_start ? part(wanted.size(), bytes_.size()) : part(0, bytes_.size() - wanted.size());
  }

  /// center, ljust and rjust: `before` of the missing characters, as a share of `two`.
  Value justify() {
    const Bound bound = bind({"width", "fillchar"});
    const std::int64_t width = (void(bound.at(0)), bound.integer(0, 0));
    const std::string fill = bound.text(1, " ");
    if (count_characters(fill) != 1) machine_.fail(name_ + "() fills with one character");
    const auto length = static_cast<std::int64_t>(count_characters(bytes_));
    if (width <= length) return machine_.text(text_);
    const auto missing = static_cast<std::size_t>(width - length);
    machine_.charge(missing < machine_.limits().value_bytes ? missing * fill.size()
                                                            : machine_.limits().value_bytes + 1);
    std::size_t before = 0;
    if (name_ == "rjust") before = missing;
    if (name_ == "center") {
      before = missing / 2 + (missing & static_cast<std::size_t>(width) & 1U);
    }
    Text out;
    for (std::size_t i = 0; i < before; ++i) out.append(fill);
    out.append(text_);
    for (std::size_t i = before; i < missing; ++i) out.append(fill);
    return keep_markup(std::move(out));
  }

  /// Whether there are characters and all are of a kind.
  Value all_are(bool (*is_kind)(char32_t)) {
    const Bound bound = bind({});
    for (std::size_t at = 0; at < bytes_.size();) {
      const auto [character, length] = character_at(bytes_, at);
      if (!is_kind(character)) return Value(false);
      at += length;
    }
    return Value(!bytes_.empty());
  }

  Value convert(Text (*conversion)(const Text&)) {
    const Bound bound = bind({});
    return machine_.text(conversion(text_));
  }

  Value in_case(bool (*test)(std::string_view)) {
    const Bound bound = bind({});
    return Value(test(bytes_));
  }

  Value format() { return keep_markup(format_fields(machine_, text_, arguments_)); }

 private:
  Bound bind(std::initializer_list<std::string_view> names) {
    return Bound(machine_, name_, std::move(arguments_), names);
  }

  Value keep_markup(Text text) {
    if (text_.is_markup()) text.set_markup();
    return machine_.text(std::move(text));
  }

  Value part(std::size_t begin, std::size_t end) {
    return machine_.text(text_.substring(begin, end));
  }

  Value list_of(const std::vector<std::pair<std::size_t, std::size_t>>& parts) {
    std::vector<Value> items;
    for (const auto& [begin, end] : parts) {
      machine_.charge(sizeof(Value));
      items.push_back(part(begin, end));
    }
    return machine_.list(std::move(items));
  }

  /// The bytes that `start` and `end` (parameters 1 and 2) leave; begin > end for none.
  std::pair<std::size_t, std::size_t> range(const Bound& bound) {
    if (bound.find(1) == nullptr && bound.find(2) == nullptr) return {0, bytes_.size()};
    const auto offsets = character_offsets(bytes_);
    const auto length = static_cast<std::int64_t>(offsets.size()) - 1;
    const auto place = [&](std::size_t parameter, std::int64_t otherwise) {
      const Value* value = bound.find(parameter);
      std::int64_t index =
          value == nullptr || value->is_none() ? otherwise : bound.integer(parameter, otherwise);
      if (index < 0) index = std::max<std::int64_t>(index < -length ? 0 : index + length, 0);
      return index;
    };
    const std::int64_t start = place(1, 0);
    const std::int64_t stop = std::min(place(2, length), length);
    if (start > stop) return {1, 0};
    return {offsets[static_cast<std::size_t>(start)], offsets[static_cast<std::size_t>(stop)]};
  }

  std::vector<std::pair<std::size_t, std::size_t>> split_at(std::string_view separator,
                                                            std::int64_t most) {
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    std::size_t begin = 0;
    while (most < 0 || static_cast<std::int64_t>(parts.size()) < most) {
      const std::size_t found = find_text(machine_, bytes_, separator, begin);
      if (found == std::string_view::npos) break;
      parts.emplace_back(begin, found);
      begin = found + separator.size();
    }
    parts.emplace_back(begin, bytes_.size());
    return parts;
  }

  std::vector<std::pair<std::size_t, std::size_t>> split_at_from_right(std::string_view separator,
                                                                       std::int64_t most) {
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    std::size_t end = bytes_.size();
    while (most < 0 || static_cast<std::int64_t>(parts.size()) < most) {
      const std::size_t found = find_text_backwards(machine_, bytes_, separator, end);
      if (found == std::string_view::npos) break;
      parts.emplace_back(found + separator.size(), end);
      end = found;
    }
    parts.emplace_back(0, end);
    std::reverse(parts.begin(), parts.end());
    return parts;
  }

  std::vector<std::pair<std::size_t, std::size_t>> split_space(std::int64_t most) {
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    std::size_t at = 0;
    while (true) {
      at += strip_space(bytes_.substr(at), Ends::left).first;
      if (at == bytes_.size()) return parts;
      if (most >= 0 && static_cast<std::int64_t>(parts.size()) == most) {
        parts.emplace_back(at, bytes_.size());
        return parts;
      }
      const std::size_t begin = at;
      while (at < bytes_.size()) {
        const auto [character, length] = character_at(bytes_, at);
        if (is_space(character)) break;
        at += length;
      }
      parts.emplace_back(begin, at);
    }
  }

  std::vector<std::pair<std::size_t, std::size_t>> split_space_from_right(std::int64_t most) {
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    std::size_t at = bytes_.size();
    while (true) {
      at = strip_space(bytes_.substr(0, at), Ends::right).second;
      if (at == 0) break;
      if (most >= 0 && static_cast<std::int64_t>(parts.size()) == most) {
        parts.emplace_back(0, at);
        break;
      }
      const std::size_t end = at;
      while (at > 0) {
        const std::size_t length = length_before(bytes_, at);
        if (is_space(character_at(bytes_, at - length).first)) break;
        at -= length;
      }
      parts.emplace_back(at, end);
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
  }

  Machine& machine_;
  const Text& text_;
  std::string_view bytes_;
  const std::string& name_;
  Arguments arguments_;
};

bool is_letter(char32_t character) {
  const auto category = category_of(character);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t character) { return category_of(character) == UTF8PROC_CATEGORY_ND; }
/// Decimal digits and those that stand raised, lowered or in circles.
bool is_digit(char32_t character) {
  return is_decimal(character) || character == 0xB2 || character == 0xB3 || character == 0xB9 ||
         character == 0x2070 || (character >= 0x2074 && character <= 0x2079) ||
         (character >= 0x2080 && character <= 0x2089) ||
         (character >= 0x2460 && character <= 0x2468);
}
bool is_alphanumeric(char32_t character) {
  const auto category = category_of(character);
  return is_letter(character) ||
         (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

using Handler = Value (*)(Call&);

const std::unordered_map<std::string_view, Handler>& handlers() {
  static const std::unordered_map<std::string_view, Handler> table = {
      {"strip", [](Call& c) { return c.strip(Ends::both); }},
      {"lstrip", [](Call& c) { return c.strip(Ends::left); }},
      {"rstrip", [](Call& c) { return c.strip(Ends::right); }},
      {"split", [](Call& c) { return c.split(Ends::left); }},
      {"rsplit", [](Call& c) { return c.split(Ends::right); }},
      {"splitlines", [](Call& c) { return c.lines(); }},
      {"startswith", [](Call& c) { return c.starts_or_ends(true); }},
      {"endswith", [](Call& c) { return c.starts_or_ends(false); }},
      {"replace", [](Call& c) { return c.replace(); }},
      {"find", [](Call& c) { return c.find(true, false); }},
      {"rfind", [](Call& c) { return c.find(false, false); }},
      {"index", [](Call& c) { return c.find(true, true); }},
      {"rindex", [](Call& c) { return c.find(false, true); }},
      {"count", [](Call& c) { return c.count(); }},
      {"join", [](Call& c) { return c.join(); }},
      {"partition", [](Call& c) { return c.partition(true); }},
      {"rpartition", [](Call& c) { return c.partition(false); }},
      {"removeprefix", [](Call& c) { return c.remove(true); }},
      {"removesuffix", [](Call& c) { return c.remove(false); }},
      {"center", [](Call& c) { return c.justify(); }},
      {"ljust", [](Call& c) { return c.justify(); }},
      {"rjust", [](Call& c) { return c.justify(); }},
      {"upper", [](Call& c) { return c.convert(to_upper); }},
      {"lower", [](Call& c) { return c.convert(to_lower); }},
      {"title", [](Call& c) { return c.convert(to_title); }},
      {"capitalize", [](Call& c) { return c.convert(capitalize); }},
      {"islower", [](Call& c) { return c.in_case(is_all_lower); }},
      {"isupper", [](Call& c) { return c.in_case(is_all_upper); }},
      {"isspace", [](Call& c) { return c.all_are(is_space); }},
      {"isalpha", [](Call& c) { return c.all_are(is_letter); }},
      {"isalnum", [](Call& c) { return c.all_are(is_alphanumeric); }},
      {"isdecimal", [](Call& c) { return c.all_are(is_decimal); }},
      {"isdigit", [](Call& c) { return c.all_are(is_digit); }},
      {"format", [](Call& c) { return c.format(); }},
  };
  return table;
}

}  // namespace

Value call_text_method(Machine& machine, const Value& receiver, const std::string& name,
                       Arguments arguments) {
  const auto found = handlers().find(name);
  if (found == handlers().end()) machine.lacks("str." + name);
  machine.work(receiver.text()->size());
  Call call(machine, *receiver.text(), name, std::move(arguments));
  return found->second(call);
}

Text replace_all(Machine& machine, const Text& text, const Text& from, const Text& to,
                 std::int64_t count) {
  Text out;
  const std::string& bytes = text.bytes();
  const auto may_replace = [&] { return count < 0 || count-- > 0; };
  const auto put = [&] {
    machine.charge(to.cost());
    out.append(to);
  };
  std::size_t at = 0;
  if (from.empty()) {  // before every character and at the end
    while (at < bytes.size() && may_replace()) {
      const std::size_t length = character_at(bytes, at).second;
      put();
      out.append(text, at, at + length);
      at += length;
    }
    if (at == bytes.size() && may_replace()) put();
    out.append(text, at, bytes.size());
    return out;
  }
  while (true) {
    const std::size_t found = find_text(machine, bytes, from.bytes(), at);
    if (found == std::string::npos || !may_replace()) break;
    out.append(text, at, found);
    put();
    at = found + from.size();
  }
  out.append(text, at, bytes.size());
  return out;
}

}  // namespace physarum::text::jinja
