#include "physarum/base/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/joined.hpp"
#include "physarum/base/metrics.hpp"

#include "text_list.hpp"

namespace physarum::base {

namespace {

std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return json_number(value); }
template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : std::string();
}

template <class T>
std::string range_text(Range<T> range) {
  std::ostringstream text;
  text << "from " << range.low << " to " << range.high;
  return text.str();
}

template <class T>
T parse_number(std::string_view value, std::string_view where, Range<T> range) {
  T result{};
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, result);
  if (error != std::errc{} || stop != end) {
    throw UserError("'" + std::string(value) + "' is not " +
                        (std::is_integral_v<T> ? "an integer" : "a number"),
                    where, "give a value " + range_text(range));
  }
  // Written so that NaN, which compares false with everything, is refused too.
  if (!(result >= range.low && result <= range.high)) {
    throw UserError("value " + std::string(value) + " is out of range", where,
                    "give a value " + range_text(range));
  }
  return result;
}

bool parse_switch(std::string_view value, std::string_view where) {
  if (value == "true") return true;
  if (value == "false") return false;
  throw UserError("'" + std::string(value) + "' is not true or false", where, "give true or false");
}

std::vector<std::string> split_list(std::string_view value) {
  std::vector<std::string> items;
  std::string item;
  for (const char c : value) {
    if (c != ',' && c != ' ') {
      item += c;
    } else if (!item.empty()) {
      items.push_back(std::exchange(item, {}));
    }
  }
  if (!item.empty()) items.push_back(item);
  return items;
}

/// Which of `choices` is named; throws UserError that lists them.
std::size_t choice_index(const std::vector<std::string>& choices, std::string_view value,
                         std::string_view where) {
  const auto found = std::ranges::find(choices, value);
  if (found == choices.end()) {
    throw UserError("'" + std::string(value) + "' is not a choice", where,
                    "choose one of: " + joined(choices, ", "));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

}  // namespace

std::string Option::key() const {
  std::string result = name;
  std::ranges::replace(result, '-', '_');
  return result;
}

void OptionTable::declare(Option option) {
  expects(find(option.name) == nullptr, "an option is declared twice");
  option.topic = topic_;
  option.default_text = option.get();
  options_.push_back(std::move(option));
}

template <class Field, class T>
void OptionTable::add_number(std::string name, Field& field, std::string help, Range<T> range) {
  declare({.name = std::move(name),
           .topic = {},
           .type = std::is_integral_v<T> ? "integer" : "number",
           .help = std::move(help),
           .default_text = {},
           .choices = {},
           .set = [&field, range](
                      std::string_view value,
                      std::string_view where) { field = parse_number(value, where, range); },
           .get = [&field] { return text_of(field); }});
}

void OptionTable::add(std::string name, std::int64_t& field, std::string help,
                      Range<std::int64_t> range) {
  add_number(std::move(name), field, std::move(help), range);
}

void OptionTable::add(std::string name, std::optional<std::int64_t>& field, std::string help,
                      Range<std::int64_t> range) {
  add_number(std::move(name), field, std::move(help), range);
}

void OptionTable::add(std::string name, double& field, std::string help, Range<double> range) {
  add_number(std::move(name), field, std::move(help), range);
}

void OptionTable::add(std::string name, std::optional<double>& field, std::string help,
                      Range<double> range) {
  add_number(std::move(name), field, std::move(help), range);
}

void OptionTable::add(std::string name, std::string& field, std::string help,
                      std::vector<std::string> choices) {
  declare({.name = std::move(name),
           .topic = {},
           .type = "text",
           .help = std::move(help),
           .default_text = {},
           .choices = choices,
           .set =
               [&field, choices](std::string_view value, std::string_view where) {
                 if (!choices.empty()) (void)choice_index(choices, value, where);
                 field = value;
               },
           .get = [&field] { return field; }});
}

void OptionTable::add_switch(std::string name, bool& field, std::string help) {
  declare({.name = std::move(name),
           .topic = {},
           .type = "switch",
           .help = std::move(help),
           .default_text = {},
           .choices = {},
           .set = [&field](std::string_view value,
                           std::string_view where) { field = parse_switch(value, where); },
           .get = [&field] { return std::string(field ? "true" : "false"); }});
}

void OptionTable::add_list(std::string name, std::vector<std::int64_t>& field, std::string help) {
  declare({.name = std::move(name),
           .topic = {},
           .type = "list of integers",
           .help = std::move(help),
           .default_text = {},
           .choices = {},
           .set =
               [&field](std::string_view value, std::string_view where) {
                 std::vector<std::int64_t> items;
                 for (const auto& item : split_list(value)) {
                   items.push_back(parse_number<std::int64_t>(item, where, {INT64_MIN, INT64_MAX}));
                 }
                 field = std::move(items);
               },
           .get =
               [&field] {
                 std::vector<std::string> items;
                 for (const auto item : field) items.push_back(text_of(item));
                 return joined(items, ",");
               }});
}

void OptionTable::add_list(std::string name, std::vector<std::string>& field, std::string help) {
  declare({.name = std::move(name),
           .topic = {},
           .type = "list of texts",
           .help = std::move(help),
           .default_text = {},
           .choices = {},
           .set = [&field](std::string_view value, std::string_view) { field = split_list(value); },
           .get = [&field] { return joined(field, ","); }});
}

void OptionTable::add_texts(std::string name, std::vector<std::string>& field, std::string help) {
  declare({.name = std::move(name),
           .topic = {},
           .type = "text or array of texts",
           .help = std::move(help),
           .default_text = {},
           .choices = {},
           .set = [&field](std::string_view value,
                           std::string_view where) { field = read_text_list(value, where); },
           .get = [&field] { return write_text_list(field); }});
}

void OptionTable::add_choice_impl(std::string name, std::string help,
                                  std::vector<std::string> texts,
                                  std::function<void(std::size_t)> set,
                                  std::function<std::size_t()> get) {
  declare({.name = std::move(name),
           .topic = {},
           .type = "text",
           .help = std::move(help),
           .default_text = {},
           .choices = texts,
           .set = [texts, set](std::string_view value,
                               std::string_view where) { set(choice_index(texts, value, where)); },
           .get = [texts, get] { return texts.at(get()); }});
}

Option* OptionTable::find(std::string_view name) {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? nullptr : &*found;
}

std::optional<std::string> OptionTable::nearest(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& option : options_) names.push_back(option.name);
  return nearest_word(name, names);
}

std::string OptionTable::to_toml() const {
  std::string text;
  std::vector<std::string> topics;
  for (const auto& option : options_) {
    if (std::ranges::find(topics, option.topic) == topics.end()) topics.push_back(option.topic);
  }
  for (const auto& topic : topics) {
    text += (text.empty() ? "[" : "\n[") + topic + "]\n";
    for (const auto& option : options_) {
      if (option.topic != topic) continue;
      const std::string value = option.get();
      if (value.empty() && option.type != "text") continue;  // an optional without a value
      const bool plain = option.type == "integer" || option.type == "number" ||
                         option.is_switch() || option.is_text_list();
      if (option.type == "list of integers") {
        text += option.key() + " = [" + value + "]\n";
      } else {
        text += option.key() + " = " + (plain ? value : json_string(value)) + "\n";
      }
    }
  }
  return text;
}

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& words) {
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i);
      for (std::size_t j = 1; j <= b.size(); ++j) {
        const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
      }
    }
    return row.back();
  };
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : words) {
    const auto d = distance(word, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace physarum::base
