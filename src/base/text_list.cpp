#define TOML_EXCEPTIONS 1
#include "text_list.hpp"

#include <toml++/toml.h>

#include "physarum/base/error.hpp"
#include "physarum/base/metrics.hpp"

namespace physarum::base {

namespace {
[[noreturn]] void refuse(std::string_view where) {
  throw UserError("what begins with [ is not an array of quoted texts", where,
                  R"(write it as ["one", "line\nbreak"])");
}

/// JSON's form, but for the one control character that TOML wants escaped and JSON does not.
std::string toml_string(std::string_view text) {
  std::string result;
  for (const char c : json_string(text)) {
    if (c == 0x7F) {
      result += "\\u007f";
    } else {
      result += c;
    }
  }
  return result;
}
}  // namespace

std::string write_text_list(const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  std::string list = "[";
  for (const auto& text : texts) list += (list.size() > 1 ? ", " : "") + toml_string(text);
  return list + "]";
}

std::vector<std::string> read_text_list(std::string_view value, std::string_view where) {
  if (value.empty()) return {};
  if (value.front() != '[') return {std::string(value)};
  toml::table root;
  try {
    root = toml::parse("texts = " + std::string(value));
  } catch (const toml::parse_error&) {
    refuse(where);
  }
  const auto* items = root["texts"].as_array();
  if (root.size() != 1 || items == nullptr) refuse(where);
  std::vector<std::string> texts;
  for (const auto& item : *items) {
    const auto* text = item.as_string();
    if (text == nullptr) refuse(where);
    texts.push_back(text->get());
  }
  return texts;
}

}  // namespace physarum::base
