#include "physarum/environment/options.hpp"

#include "physarum/base/error.hpp"

namespace physarum::environment {

namespace {

constexpr std::int64_t most_held_out = 1'000'000;

void check_key(const std::string& key, std::string_view flag) {
  if (!key.empty()) return;
  throw base::UserError("the name of a field is empty", flag, "name a field of the JSON lines");
}

}  // namespace

void EnvironmentOptions::validate() const {
  if (held_out < 1 || held_out > most_held_out) {
    throw base::UserError(std::to_string(held_out) + " problems cannot be held out",
                          "--env-held-out",
                          "give a number from 1 to " + std::to_string(most_held_out));
  }
  if (environment != "arithmetic" && environment != "exact_match" && environment != "last_number") {
    throw base::UserError("there is no environment '" + environment + "'", "--env",
                          "use arithmetic, exact_match or last_number");
  }
  check_arithmetic_level(level);
}

void JsonlKeys::validate() const {
  check_key(input, "--input-key");
  check_key(metadata, "--metadata-key");
}

void declare_options(base::OptionTable& table, EnvironmentOptions& options) {
  table.topic("environment");
  table.add("env", options.environment,
            "Environment that judges prompts which name none; arithmetic also makes the prompts "
            "if no file gives them.",
            {"arithmetic", "exact_match", "last_number"});
  table.add("env-level", options.level,
            "What the arithmetic environment asks: " + arithmetic_levels() +
                " (operator and number of digits).");
  table.add("env-held-out", options.held_out,
            "Problems of each part of the level that are never trained on and that evaluation "
            "asks, at most half of all.",
            {1, most_held_out});
  table.add_choice("env-style", options.style,
                   "How arithmetic problems are put: fixed is 37+85= with the zero-filled answer "
                   "alone; words is a question of which the last number counts.",
                   {"fixed", "words"});
}

void declare_options(base::OptionTable& table, JsonlKeys& keys) {
  table.topic("data");
  table.add("input-key", keys.input,
            "Field of each JSON line that holds the prompt: a text, or a list of messages.");
  table.add("label-key", keys.label,
            "Field that holds the reference answer; without it prompts have none.");
  table.add("metadata-key", keys.metadata, "Field that holds a JSON object of more.");
  table.add("tool-key", keys.tools,
            "Field that holds the list of tools of a conversation; without it there are none.");
}

}  // namespace physarum::environment
