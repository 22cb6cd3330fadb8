#include "physarum/environment/jsonl_prompts.hpp"

#include <algorithm>
#include <fstream>

#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"

#include "physarum/text/strict_json.hpp"

#include "line_reader.hpp"

namespace physarum::environment {

namespace {

/// Messages and tools are shown to the model: their keys stay in order.
using json = nlohmann::ordered_json;

/// Turns one line into a prompt.
class PromptReader {
 public:
  PromptReader(const JsonlKeys& keys, std::string_view environment, EmptyTexts empty_texts)
      : keys_(keys), environment_(environment), empty_texts_(empty_texts) {}

  sample::Prompt read(const json& row, const std::string& where) const {
    if (!row.is_object()) {
      throw base::UserError("the line is no JSON object", where,
                            "write {\"input\": ...} in a line");
    }
    sample::Prompt prompt;
    read_input(row, where, prompt);
    if (!keys_.tools.empty()) read_tools(row, where, prompt);
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

  void read_input(const json& row, const std::string& where, sample::Prompt& prompt) const {
    const json& input = find(row, keys_.input, where, "--input-key");
    if (input.is_array()) {
      check_messages(input, where);
      prompt.messages = input.dump();
      return;
    }
    const bool keeps_empty = empty_texts_ == EmptyTexts::keep;
    if (!input.is_string() || (input.get_ref<const std::string&>().empty() && !keeps_empty)) {
      throw base::UserError("the field '" + keys_.input + "' is no text or an empty one", where,
                            "write the prompt as a text or a list of messages");
    }
    prompt.text = checked(input.get_ref<const std::string&>(), keys_.input, where);
  }

  /// The role of each is all that every chat template needs; the rest is the template's business.
  void check_messages(const json& messages, const std::string& where) const {
    const bool good =
        !messages.empty() && std::all_of(messages.begin(), messages.end(), [](const json& message) {
          return message.is_object() && message.contains("role") && message["role"].is_string();
        });
    if (good) return;
    throw base::UserError(
        "the field '" + keys_.input + "' is no list of messages, each with a role", where,
        R"(write [{"role": "user", "content": "..."}])");
  }

  void read_tools(const json& row, const std::string& where, sample::Prompt& prompt) const {
    const auto tools = row.find(keys_.tools);
    if (tools == row.end() || tools->is_null()) return;
    const bool good =
        tools->is_array() && std::all_of(tools->begin(), tools->end(),
                                         [](const json& tool) { return tool.is_object(); });
    if (!good) {
      throw base::UserError("the field '" + keys_.tools + "' is no list of tools", where,
                            "write a list of JSON objects or name another field with --tool-key");
    }
    if (tools->empty()) return;
    if (prompt.messages.empty()) {
      throw base::UserError("the prompt has tools but is no list of messages", where,
                            R"(write it as [{"role": "user", "content": "..."}])");
    }
    prompt.tools = tools->dump();
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
  EmptyTexts empty_texts_;
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
  const PromptReader reader(keys, environment, limits.empty_texts);
  std::vector<sample::Prompt> prompts;
  while (const auto line = lines.next()) {
    if (is_blank(*line)) continue;
    const std::string place = lines.place();
    prompts.push_back(
        reader.read(text::parse_strict_ordered_json(*line, place, limits.json_depth), place));
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
