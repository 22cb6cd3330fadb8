#pragma once

#include <cstdint>
#include <string>

#include "physarum/base/options.hpp"

namespace physarum::app {

enum class Initialise { checkpoint, random };

/// What belongs to a run as a whole and to no room.
struct RunOptions {
  std::string run_name = "run";  ///< the run's folder is runs_dir/run_name
  std::string runs_dir = "runs";
  std::int64_t seed = 1234;
  std::string hf_checkpoint;  ///< Hugging Face directory: config.json, tokenizer.json, weights
  Initialise initialise = Initialise::checkpoint;
  std::string save_hf;             ///< directory for the final weights; empty: none are written
  std::string log_level = "info";  ///< on the console; files hold everything

  /// Throws UserError.
  void validate() const;
};

/// --run-name, --runs-dir, --seed, --hf-checkpoint, --init, --save-hf, --log-level.
void declare_options(base::OptionTable& table, RunOptions& options);

}  // namespace physarum::app
