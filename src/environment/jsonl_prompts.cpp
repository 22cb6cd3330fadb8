#include "physarum/environment/jsonl_prompts.hpp"

#include <fstream>

#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"

#include "physarum/text/strict_json.hpp"

#include "line_reader.hpp"

namespace physarum::environment {

namespace {

using nlohmann::json;

/// Turns one line into a prompt.
class PromptReader {
 public:
  PromptReader(const JsonlKeys& keys, std::string_view environment)
      : keys_(keys), environment_(environment) {}

  sample::Prompt read(const json& row, const std::string& where) const {
    if (!row.is_object()) {
      throw base::UserError("the line is no JSON object", where,
                            "write {\"input\": ...} in a line");
    }
    sample::Prompt prompt;
    prompt.text = read_input(row, where);
    if (!keys_.label.empty()) prompt.label = read_label(row, where);
    prompt.environment = environment_;
    read_metadata(row, where, prompt);
    return prompt;
  }

 private:
  static const json& find(const json& row, const std::string& key, const std::string& where,
                          std::string_view flag) {
    const auto found = row.find(key);
    if (found != row.end()) return *found;
    std::string names;
    for (const auto& [name, value] : row.items()) {
      if (names.size() < 200) names += " " + name.substr(0, 40);
    }
    throw base::UserError("there is no field '" + key + "' (there are:" + names + ")", where,
                          "name the right one with " + std::string(flag));
  }

  static std::string checked(const std::string& text, const std::string& key,
                             const std::string& where) {
    if (text.find('\0') == std::string::npos) return text;
    throw base::UserError("the field '" + key + "' holds a NUL character", where, "remove it");
  }

  [[nodiscard]] std::string read_input(const json& row, const std::string& where) const {
    const json& input = find(row, keys_.input, where, "--input-key");
    if (input.is_array()) {
      throw base::UserError("the field '" + keys_.input + "' is a list of messages", where,
                            "write the prompt as one text with the chat template applied");
    }
    if (!input.is_string() || input.get_ref<const std::string&>().empty()) {
      throw base::UserError("the field '" + keys_.input + "' is no text or an empty one", where,
                            "write the prompt as a text");
    }
    return checked(input.get_ref<const std::string&>(), keys_.input, where);
  }

  [[nodiscard]] std::string read_label(const json& row, const std::string& where) const {
    const json& label = find(row, keys_.label, where, "--label-key");
    if (label.is_number()) return label.dump();
    if (!label.is_string()) {
      throw base::UserError("the field '" + keys_.label + "' is neither text nor number", where,
                            "write the reference answer as a text");
    }
    return checked(label.get_ref<const std::string&>(), keys_.label, where);
  }

  void read_metadata(const json& row, const std::string& where, sample::Prompt& prompt) const {
    prompt.metadata = "{}";
    const auto metadata = row.find(keys_.metadata);
    if (metadata == row.end() || metadata->is_null()) return;
    if (!metadata->is_object()) {
      throw base::UserError("the field '" + keys_.metadata + "' is no JSON object", where,
                            "write {...} or name another field with --metadata-key");
    }
    prompt.metadata = metadata->dump();
    const auto rule = metadata->find("rm_type");
    if (rule == metadata->end() || rule->is_null()) return;
    if (!rule->is_string()) {
      throw base::UserError("rm_type in the metadata is no text", where,
                            "name an environment that judges the answer");
    }
    prompt.environment = checked(rule->get_ref<const std::string&>(), "rm_type", where);
  }

  const JsonlKeys& keys_;
  std::string environment_;
};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

}  // namespace

std::vector<sample::Prompt> read_jsonl_prompts(std::istream& stream, std::string_view where,
                                               const JsonlKeys& keys, std::string_view environment,
                                               const JsonlLimits& limits) {
  keys.validate();
  LineReader lines(stream, where, limits.line_bytes, limits.total_bytes);
  const PromptReader reader(keys, environment);
  std::vector<sample::Prompt> prompts;
  while (const auto line = lines.next()) {
    if (is_blank(*line)) continue;
    const std::string place = lines.place();
    prompts.push_back(reader.read(text::parse_strict_json(*line, place, limits.json_depth), place));
    prompts.back().id = base::PromptId(static_cast<std::int64_t>(prompts.size()) - 1);
  }
  if (prompts.empty()) {
    throw base::UserError("there is no prompt in the file", where, "write one JSON object a line");
  }
  return prompts;
}

std::vector<sample::Prompt> read_jsonl_prompts(const std::filesystem::path& path,
                                               const JsonlKeys& keys, std::string_view environment,
                                               const JsonlLimits& limits) {
  std::error_code error;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, error)) {
    throw base::UserError("the file cannot be read", path.string(),
                          "check that it exists and its permissions");
  }
  return read_jsonl_prompts(file, path.string(), keys, environment, limits);
}

}  // namespace physarum::environment
