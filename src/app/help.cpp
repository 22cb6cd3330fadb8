#include "help.hpp"

#include <algorithm>

#include "physarum/app/configuration.hpp"
#include "physarum/app/convert_options.hpp"
#include "physarum/app/version.hpp"

namespace physarum::app {

namespace {

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string choices_text(const base::Option& option) {
  std::string text;
  for (const auto& choice : option.choices) text += (text.empty() ? "" : "|") + choice;
  return text.empty() ? option.type : text;
}

std::vector<std::string> topics_of(const base::OptionTable& table) {
  std::vector<std::string> topics;
  for (const auto& option : table.options()) {
    if (std::ranges::find(topics, option.topic) == topics.end()) topics.push_back(option.topic);
  }
  return topics;
}

}  // namespace

std::string version_text() { return "physarum " + std::string(version) + "\n"; }

std::string usage_text() {
  std::string text =
      "Physarum post-trains language models by reinforcement learning, as one MPI program.\n\n"
      "  jobs/launch -n RANKS <command> [CONFIG.toml] [--flag value ...]\n\n";
  for (const auto& command : commands()) {
    text += "  " + padded(command.name, 10) + command.help + "\n";
  }
  return text + "\nphysarum <command> --help lists the flags of a command.\n";
}

std::string command_text(const Command& command) {
  std::string text = std::string("physarum ") + command.name + " " + command.arguments + "\n" +
                     command.help + "\n";
  if (std::string_view(command.name) == "inspect") return text;
  Configuration configuration;
  ConvertOptions convert;
  base::OptionTable table;
  declare_options(table, configuration);
  if (std::string_view(command.name) == "convert") {
    table = {};
    declare_options(table, convert);
  }
  for (const auto& topic : topics_of(table)) {
    text += "\n[" + topic + "]\n";
    for (const auto& option : table.options()) {
      if (option.topic != topic) continue;
      const std::string flag =
          "--" + option.name + (option.is_switch() ? "" : " " + choices_text(option));
      text += "  " + padded(flag, 44) + " " + option.help;
      if (!option.default_text.empty() && !option.is_switch()) {
        text += " [" + option.default_text + "]";
      }
      text += "\n";
    }
  }
  return text;
}

std::string options_markdown() {
  Configuration configuration;
  ConvertOptions convert;
  base::OptionTable table;
  declare_options(table, configuration);
  declare_own_options(table, convert);
  std::string text =
      "# Configuration\n\n"
      "Printed by `physarum help --markdown` from the table that reads the flags. Every flag is "
      "also a key of the\n"
      "TOML file, with underscores, in the table named by the heading; flags win over the file. A "
      "switch is turned\n"
      "off by `--no-NAME`. Names and meaning are slime's wherever the thing exists there.\n";
  for (const auto& topic : topics_of(table)) {
    text += "\n## [" + topic + "]\n\n| flag | value | default | meaning |\n|---|---|---|---|\n";
    for (const auto& option : table.options()) {
      if (option.topic != topic) continue;
      std::string choices = choices_text(option);
      for (std::size_t at = 0; (at = choices.find('|', at)) != std::string::npos; at += 2) {
        choices.replace(at, 1, "\\|");
      }
      text += "| `--" + option.name + "` | " + choices + " | " +
              (option.default_text.empty() ? "–" : option.default_text) + " | " + option.help +
              " |\n";
    }
  }
  return text;
}

}  // namespace physarum::app
