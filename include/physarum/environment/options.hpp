#pragma once

#include <cstdint>
#include <string>

#include "physarum/base/options.hpp"

#include "physarum/environment/arithmetic.hpp"
#include "physarum/environment/jsonl_prompts.hpp"

namespace physarum::environment {

/// What the run asks and how it judges.
struct EnvironmentOptions {
  /// Judges prompts that name none; `arithmetic` also makes the prompts if no file gives them.
  std::string environment = "arithmetic";
  std::string level = "add2";
  std::int64_t held_out = 500;
  ArithmeticStyle style = ArithmeticStyle::fixed;
  void validate() const;  ///< throws UserError
};

/// --env, --env-level, --env-held-out, --env-style.
void declare_options(base::OptionTable& table, EnvironmentOptions& options);
/// --input-key, --label-key, --metadata-key, --tool-key.
void declare_options(base::OptionTable& table, JsonlKeys& keys);

}  // namespace physarum::environment
