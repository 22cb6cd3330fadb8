#pragma once

#include <nlohmann/json.hpp>

#include "template_machine.hpp"

namespace physarum::text::jinja {

/// The parameters of json.dumps that templates can set.
struct JsonStyle {
  std::optional<std::string> indent;  ///< what one level is moved by; nothing for one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ascii_only = false;
  bool sorted_keys = false;
};

/// json.dumps. Fails on what JSON has not.
[[nodiscard]] Text dump_json(Machine& machine, const Value& value, const JsonStyle& style);

/// The value of parsed JSON; every text in it has the origin. Fails on broken UTF-8.
[[nodiscard]] Value from_json(Machine& machine, const nlohmann::ordered_json& json, Origin origin);

}  // namespace physarum::text::jinja
