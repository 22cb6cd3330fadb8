#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "physarum/base/options.hpp"

#include "physarum/environment/jsonl_prompts.hpp"

namespace physarum::app {

/// What becomes of a prompt that cannot be answered: it has no tokens, or too many for the context.
enum class BadPrompts : std::uint8_t {
  refuse,  ///< the run does not begin
  fail,    ///< its samples fail, each with the reason, and the run goes on
};

/// Files that prompts come from (without them the environment makes the prompts), and the form in
/// which samples are left. A prompt file is a prompts.h5, or JSON lines if its name ends so.
struct DataOptions {
  std::string prompt_data;                    ///< for training or generation
  std::vector<std::string> eval_prompt_data;  ///< for evaluation: FILE or NAME=FILE
  environment::JsonlKeys keys;
  BadPrompts bad_prompts = BadPrompts::refuse;
  bool samples_jsonl = false;  ///< beside every samples_*.h5 and eval_*.h5 the same as JSON lines

  /// Throws UserError.
  void validate() const;
};

/// A set of prompts for evaluation; its metric is eval/<name>.
struct EvaluationFile {
  std::string name;
  std::string path;
};

/// Those of --eval-prompt-data. A single one without a name is called `only`, one of several as its
/// file without the ending. Throws UserError for names twice.
[[nodiscard]] std::vector<EvaluationFile> evaluation_files(const DataOptions& options,
                                                           const std::string& only);

/// --prompt-data, --eval-prompt-data, --input-key, --label-key, --metadata-key, --tool-key,
/// --bad-prompts, --samples-jsonl; topic "data".
void declare_options(base::OptionTable& table, DataOptions& options);

}  // namespace physarum::app
