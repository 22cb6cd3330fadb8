// Reading option values from a TOML file and from the command line.
#define TOML_EXCEPTIONS 1
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <CLI/CLI.hpp>
#include <toml++/toml.h>

#include "physarum/base/metrics.hpp"
#include "physarum/base/options.hpp"

#include "text_list.hpp"

namespace physarum::base {

namespace {

constexpr std::uintmax_t largest_config_bytes = 1U << 20;

std::string place(const std::string& path, const toml::node& node) {
  return path + ":" + std::to_string(node.source().begin.line);
}

std::string scalar_text(const toml::node& node, const std::string& where) {
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return std::to_string(value->get());
  if (const auto* value = node.as_boolean()) return value->get() ? "true" : "false";
  if (const auto* value = node.as_floating_point()) {
    return std::isfinite(value->get()) ? json_number(value->get()) : std::string("nan");
  }
  throw UserError("a value of this kind is not expected here", where,
                  "give a number, a text, true, false or a list of these");
}

std::string text_list_text(const toml::array& array, const std::string& where) {
  std::vector<std::string> texts;
  for (const auto& item : array) texts.push_back(scalar_text(item, where));
  return write_text_list(texts);
}

std::string value_text(const Option& option, const toml::node& node, const std::string& where) {
  const auto* array = node.as_array();
  if (array == nullptr) return scalar_text(node, where);
  if (option.is_text_list()) return text_list_text(*array, where);
  std::string text;
  for (const auto& item : *array) text += (text.empty() ? "" : ",") + scalar_text(item, where);
  return text;
}

std::string mend_with(const std::optional<std::string>& nearest) {
  return nearest ? "did you mean '" + *nearest + "'?" : "physarum train --help lists them all";
}

void read_table(const std::string& path, const std::string& topic, const toml::table& values,
                OptionTable& table) {
  for (const auto& [key, node] : values) {
    std::string name(key.str());
    const std::string where = place(path, node);
    std::ranges::replace(name, '_', '-');
    Option* option = table.find(name);
    if (option == nullptr || key.str().find('-') != std::string_view::npos) {
      auto nearest = table.nearest(name);
      if (nearest) std::ranges::replace(*nearest, '-', '_');
      throw UserError("unknown key '" + std::string(key.str()) + "' in table [" + topic + "]",
                      where, mend_with(nearest));
    }
    if (option->topic != topic) {
      throw UserError(
          "key '" + std::string(key.str()) + "' does not belong to table [" + topic + "]", where,
          "put it into [" + option->topic + "]");
    }
    option->set(value_text(*option, node, where), where);
  }
}

}  // namespace

void read_toml(const std::string& path, OptionTable& table) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw UserError("cannot read the configuration file", path, error.message());
  if (size > largest_config_bytes) {
    throw UserError("the configuration file is larger than 1 MiB", path, "is it the right file?");
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  if (stream) content << stream.rdbuf();
  if (!stream || stream.bad())
    throw UserError("cannot read the configuration file", path, "check its permissions");
  read_toml_text(std::move(content).str(), path, table);
}

void read_toml_text(std::string_view text, const std::string& path, OptionTable& table) {
  toml::table root;
  try {
    root = toml::parse(text, path);
  } catch (const toml::parse_error& parse) {
    throw UserError(std::string(parse.description()),
                    path + ":" + std::to_string(parse.source().begin.line) + ":" +
                        std::to_string(parse.source().begin.column),
                    "mend the TOML syntax there");
  }
  std::vector<std::string> topics;
  for (const auto& option : table.options()) topics.push_back(option.topic);
  for (const auto& [key, node] : root) {
    const std::string topic(key.str());
    const auto* values = node.as_table();
    if (values == nullptr) {
      std::string name = topic;
      std::ranges::replace(name, '_', '-');
      const Option* option = table.find(name);
      throw UserError("key '" + topic + "' stands outside every table", place(path, node),
                      option != nullptr ? "put it into [" + option->topic + "]"
                                        : mend_with(table.nearest(name)));
    }
    if (std::ranges::find(topics, topic) == topics.end()) {
      throw UserError("unknown table [" + topic + "]", place(path, node),
                      mend_with(nearest_word(topic, topics)));
    }
    read_table(path, topic, *values, table);
  }
}

std::vector<std::string> read_arguments(const std::vector<std::string>& arguments,
                                        OptionTable& table) {
  CLI::App parser;
  parser.set_help_flag();
  parser.allow_extras();
  // The last one given wins, so that scripts can append overrides.
  for (const auto& option : table.options()) {
    const std::string flag = "--" + option.name;
    if (option.is_switch()) {
      parser
          .add_flag_function(flag + ",!--no-" + option.name,
                             [&option, flag](std::int64_t count) {
                               option.set(count > 0 ? "true" : "false", flag);
                             })
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    } else {
      parser
          .add_option_function<std::string>(
              flag, [&option, flag](const std::string& value) { option.set(value, flag); })
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    parser.parse(reversed);
  } catch (const CLI::ParseError& error) {
    throw UserError(error.what(), "command line", "physarum <command> --help shows the flags");
  }
  auto rest = parser.remaining();
  for (const auto& word : rest) {
    if (!word.starts_with("-") || word == "-") continue;
    const std::string flag = word.substr(0, word.find('='));
    const std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
    auto nearest = table.nearest(name);
    if (nearest) nearest = "--" + *nearest;
    throw UserError("unknown flag '" + word + "'", "command line", mend_with(nearest));
  }
  return rest;
}

}  // namespace physarum::base
