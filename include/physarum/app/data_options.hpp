#pragma once

#include <string>

#include "physarum/base/options.hpp"

namespace physarum::app {

/// Files that prompts come from; without them the environment makes the prompts.
struct DataOptions {
  std::string prompt_data;       ///< prompts.h5 for training or generation
  std::string eval_prompt_data;  ///< prompts.h5 for evaluation
};

/// --prompt-data, --eval-prompt-data.
void declare_options(base::OptionTable& table, DataOptions& options);

}  // namespace physarum::app
