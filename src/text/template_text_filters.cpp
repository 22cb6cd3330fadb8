#include <algorithm>

#include "template_filters.hpp"
#include "template_json.hpp"
#include "template_methods.hpp"
#include "template_operators.hpp"
#include "template_print.hpp"
#include "template_unicode.hpp"

namespace physarum::text::jinja {

namespace {

Value trim(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "trim", std::move(arguments), {"chars"});
  const Text text = to_text(machine, input);
  const Value* set = bound.find(0);
  const auto [begin, end] = set == nullptr || set->is_none()
                                ? strip_space(text.bytes(), Ends::both)
                                : strip_set(text.bytes(), bound.text(0, ""), Ends::both);
  return machine.text(text.substring(begin, end));
}

template <Text (*conversion)(const Text&)>
Value convert(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "the filter", std::move(arguments), {});
  return machine.text(conversion(to_text(machine, input)));
}

/// Jinja's own idea of a title: words begin behind white space and - ( { [ <.
Text title_words(const Text& text) {
  const auto separates = [](char32_t character) {
    return is_space(character) ||
           std::u32string_view(U"-({[<").find(character) != std::u32string_view::npos;
  };
  Text out;
  const std::string& bytes = text.bytes();
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t begin = at;
    const bool is_gap = separates(character_at(bytes, at).first);
    while (at < bytes.size() && separates(character_at(bytes, at).first) == is_gap) {
      at += character_at(bytes, at).second;
    }
    const std::size_t second = begin + character_at(bytes, begin).second;
    out.append(to_upper(text.substring(begin, second)));
    out.append(to_lower(text.substring(second, at)));
  }
  return out;
}

Value replace(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "replace", std::move(arguments), {"old", "new", "count"});
  const Value* count = bound.find(2);
  const std::int64_t most = count == nullptr || count->is_none() ? -1 : bound.integer(2, -1);
  return machine.text(replace_all(machine, to_text(machine, input), to_text(machine, bound.at(0)),
                                  to_text(machine, bound.at(1)), most));
}

std::string spaces(Machine& machine, std::int64_t count) {
  const auto length = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  machine.charge(length);
  return std::string(length, ' ');
}

Value indent(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "indent", std::move(arguments), {"width", "first", "blank"});
  if (input.text() == nullptr) machine.fail("indent wants a string, not " + input.type_name());
  const Value* width = bound.find(0);
  const Text by = width != nullptr && width->text() != nullptr
                      ? *width->text()
                      : Text(spaces(machine, bound.integer(0, 4)));
  Text text = *input.text();
  text.append("\n");
  const bool blank = bound.flag(2, false);
  Text out;
  if (bound.flag(1, false)) out.append(by);
  const auto lines = split_lines(text.bytes());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto [begin, end] = lines[i];
    machine.charge(by.cost());
    if (i != 0) out.append("\n");
    if (i != 0 && (blank || begin != end)) out.append(by);
    out.append(text, begin, end);
  }
  if (input.text()->is_markup()) out.set_markup();
  return machine.text(std::move(out));
}

Value center(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "center", std::move(arguments), {"width"});
  Arguments passed;
  passed.positional.emplace_back(bound.integer(0, 80));
  return call_text_method(machine, machine.text(to_text(machine, input)), "center",
                          std::move(passed));
}

Value format(Machine& machine, const Value& input, Arguments arguments) {
  const Text text = to_text(machine, input);
  if (!arguments.named.empty()) {
    if (!arguments.positional.empty()) machine.fail("format takes values or names, not both");
    Dict names;
    for (auto& [name, value] : arguments.named) names.set(machine.text(name), std::move(value));
    return machine.text(format_printf(machine, text, machine.dict(std::move(names))));
  }
  return machine.text(format_printf(machine, text, machine.tuple(std::move(arguments.positional))));
}

Value safe(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "safe", std::move(arguments), {});
  Text text = to_text(machine, input);
  text.set_markup();
  return machine.text(std::move(text));
}

Value string(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "string", std::move(arguments), {});
  return machine.text(to_text(machine, input));
}

Value wordcount(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "wordcount", std::move(arguments), {});
  const Text text = to_text(machine, input);
  std::int64_t words = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto [character, length] = character_at(text.bytes(), at);
    const bool is_part = is_word(character);
    if (is_part && !inside) ++words;
    inside = is_part;
    at += length;
  }
  return Value(words);
}

Value tojson(Machine& machine, const Value& input, Arguments arguments) {
  const Bound bound(machine, "tojson", std::move(arguments),
                    {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii_only = bound.flag(0, false);
  style.sorted_keys = bound.flag(3, false);
  const Value* width = bound.find(1);
  if (width != nullptr && !width->is_none()) {
    style.indent =
        width->text() != nullptr ? width->text()->bytes() : spaces(machine, bound.integer(1, 0));
    style.item_separator = ",";
  }
  const Value* separators = bound.find(2);
  if (separators != nullptr && !separators->is_none()) {
    const auto both = iterate(machine, *separators);
    if (both.size() != 2 || both[0].text() == nullptr || both[1].text() == nullptr) {
      machine.fail("tojson: separators must be two strings");
    }
    style.item_separator = both[0].text()->bytes();
    style.key_separator = both[1].text()->bytes();
  }
  return machine.text(dump_json(machine, input, style));
}

}  // namespace

const FilterTable& text_filters() {
  static const FilterTable table = {
      {"capitalize", convert<capitalize>},
      {"center", center},
      {"format", format},
      {"indent", indent},
      {"lower", convert<to_lower>},
      {"replace", replace},
      {"safe", safe},
      {"string", string},
      {"title", convert<title_words>},
      {"tojson", tojson},
      {"trim", trim},
      {"upper", convert<to_upper>},
      {"wordcount", wordcount},
  };
  return table;
}

}  // namespace physarum::text::jinja
