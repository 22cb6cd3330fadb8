#include "physarum/app/data_options.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "physarum/environment/options.hpp"

namespace physarum::app {

namespace {

using base::UserError;

constexpr const char* eval_flag = "--eval-prompt-data";

bool is_plain(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

/// "NAME=FILE", or "FILE" with an empty name. A '=' behind a '/' belongs to the file.
EvaluationFile read_item(const std::string& item) {
  const auto equals = item.find('=');
  if (equals == std::string::npos || !is_plain(std::string_view(item).substr(0, equals)))
    return {"", item};
  return {item.substr(0, equals), item.substr(equals + 1)};
}

}  // namespace

std::vector<EvaluationFile> evaluation_files(const DataOptions& options, const std::string& only) {
  std::vector<EvaluationFile> files;
  for (const auto& item : options.eval_prompt_data) {
    auto file = read_item(item);
    if (file.path.empty()) throw UserError("a file without a path", eval_flag, "write NAME=FILE");
    if (file.name.empty()) {
      const bool alone = options.eval_prompt_data.size() == 1;
      file.name = alone ? only : std::filesystem::path(file.path).stem().string();
    }
    if (!is_plain(file.name)) {
      throw UserError("'" + file.name + "' cannot name a set of prompts", eval_flag,
                      "write NAME=FILE with letters, digits, '_', '-' and '.' in the name");
    }
    if (std::ranges::find(files, file.name, &EvaluationFile::name) != files.end()) {
      throw UserError("two sets of prompts are called '" + file.name + "'", eval_flag,
                      "write NAME=FILE with a name of its own for each");
    }
    files.push_back(std::move(file));
  }
  return files;
}

void DataOptions::validate() const {
  keys.validate();
  (void)evaluation_files(*this, "evaluation");
}

void declare_options(base::OptionTable& table, DataOptions& options) {
  table.topic("data");
  table.add("prompt-data", options.prompt_data,
            "Prompt file: prompts.h5 made by convert, or JSON lines (.jsonl); without it the "
            "environment makes prompts.");
  table.add_list("eval-prompt-data", options.eval_prompt_data,
                 "Prompt files for evaluation, each FILE or NAME=FILE, where NAME is that of its "
                 "metrics; without them the environment's held-out problems.");
  environment::declare_options(table, options.keys);
  table.add_choice("bad-prompts", options.bad_prompts,
                   "What becomes of prompts without tokens or with too many: refuse: the run does "
                   "not begin; fail: their samples fail with a reason, and the run goes on.",
                   {"refuse", "fail"});
  table.add_switch("samples-jsonl", options.samples_jsonl,
                   "Leave samples as JSON lines, too, beside every file of --save-samples.");
}

}  // namespace physarum::app
