#include <optional>

#include "physarum/base/error.hpp"

#include "physarum/text/strict_json.hpp"

#include "chat_content.hpp"
#include "json_field.hpp"
#include "read_tokenizer.hpp"
#include "template_parser.hpp"

namespace physarum::text {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t most_templates = 32;
constexpr std::size_t most_tokens = std::size_t{1} << 20;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// A token is written as its text or as an object with it.
std::optional<std::string> token_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return std::nullopt;
  const auto content = value.find("content");
  if (content == value.end() || !content->is_string()) return std::nullopt;
  return content->get<std::string>();
}

/// bos_token, eos_token and so on, and the special ones of added_tokens_decoder.
void read_tokens(const JsonField& config, ChatTemplate::SpecialTokenMap& by_name,
                 std::vector<std::string>& others) {
  for (const char* name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                           "cls_token", "mask_token"}) {
    const auto field = config.find(name);
    if (!field) continue;
    const auto token = token_text(field->value());
    if (!token) field->refuse("must be a text, or an object with 'content'", "write its text");
    by_name.emplace(name, *token);
  }
  const auto added = config.find("added_tokens_decoder");
  if (!added) return;
  if (!added->value().is_object() || added->value().size() > most_tokens) {
    added->refuse("must be an object of at most " + std::to_string(most_tokens) + " tokens",
                  "export the tokenizer again");
  }
  for (const auto& [id, token] : added->value().items()) {
    const auto content = token_text(token);
    const bool is_special = token.is_object() && token.contains("special") &&
                            token["special"].is_boolean() && token["special"].get<bool>();
    if (content && is_special) others.push_back(*content);
  }
}

/// `chat_template` of tokenizer_config.json: a text, or a list of {"name", "template"}.
std::map<std::string, std::string> named_templates(const JsonField& field) {
  std::map<std::string, std::string> sources;
  if (field.value().is_string()) {
    sources.emplace("default", field.text());
    return sources;
  }
  const std::size_t count = field.items(most_templates);
  for (std::size_t i = 0; i < count; ++i) {
    const JsonField entry = field.item(i);
    if (!sources.emplace(entry.at("name").text(), entry.at("template").text()).second) {
      entry.refuse("has a name that another template has", "name each of them once");
    }
  }
  if (sources.empty()) field.refuse("is an empty list", "give a template");
  return sources;
}

}  // namespace

ChatTemplate ChatTemplate::from_directory(const fs::path& directory, const TemplateLimits& limits) {
  auto content = std::make_shared<Content>();
  content->limits = limits;
  const fs::path config_path = directory / "tokenizer_config.json";
  const fs::path template_path = directory / "chat_template.jinja";
  json config = json::object();
  if (is_there(config_path)) {
    config =
        parse_strict_json(read_small_file(config_path, limits.config_bytes), config_path.string());
  }
  const JsonField root(config, config_path.string());
  if (!config.is_object()) root.refuse("must be a JSON object", "export the tokenizer again");
  read_tokens(root, content->special_tokens, content->other_special_tokens);
  if (is_there(template_path)) {
    content->programs.emplace(
        "default", jinja::parse_template(read_small_file(template_path, limits.template_bytes),
                                         template_path.string(), limits));
    return ChatTemplate(std::move(content));
  }
  const auto field = root.find("chat_template");
  if (!field) {
    throw base::UserError("there is no chat template", directory.string(),
                          "put one into chat_template.jinja, or into the field chat_template of "
                          "tokenizer_config.json");
  }
  for (const auto& [name, source] : named_templates(*field)) {
    const std::string place = config_path.string() + ": chat_template" +
                              (field->value().is_string() ? "" : " '" + name + "'");
    content->programs.emplace(name, jinja::parse_template(source, place, limits));
  }
  return ChatTemplate(std::move(content));
}

}  // namespace physarum::text
