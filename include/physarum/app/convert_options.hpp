#pragma once

#include <cstdint>
#include <string>

#include "physarum/base/options.hpp"

#include "physarum/environment/jsonl_prompts.hpp"

namespace physarum::app {

/// What `convert` needs besides its two paths.
struct ConvertOptions {
  environment::JsonlKeys keys;
  std::string environment = "exact_match";  ///< judges rows whose metadata names none
  std::string dtype = "f32";                ///< of written weights
  std::int64_t max_shard_bytes = 5'000'000'000;
};

/// --input-key, --label-key, --metadata-key, --tool-key, which other commands have too, and the own
/// options.
void declare_options(base::OptionTable& table, ConvertOptions& options);
/// --prompt-env, --dtype, --max-shard-bytes; topic "convert".
void declare_own_options(base::OptionTable& table, ConvertOptions& options);

}  // namespace physarum::app
