#include "physarum/app/run_options.hpp"

#include <algorithm>
#include <limits>

#include "physarum/base/error.hpp"

namespace physarum::app {

void RunOptions::validate() const {
  const bool plain = std::ranges::all_of(run_name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  });
  if (run_name.empty() || !plain || run_name.find("..") != std::string::npos ||
      run_name.front() == '/') {
    throw base::UserError("'" + run_name + "' cannot name a run", "--run-name",
                          "use letters, digits, '-', '_', '.' and '/', and no '..'");
  }
  if (hf_checkpoint.empty()) {
    throw base::UserError("no model is given", "--hf-checkpoint",
                          "name a Hugging Face directory, for example inputs/model-small");
  }
}

void declare_options(base::OptionTable& table, RunOptions& options) {
  table.topic("run");
  table.add("run-name", options.run_name, "Name of the run; its files go to RUNS_DIR/RUN_NAME.");
  table.add("runs-dir", options.runs_dir, "Directory of all runs.");
  table.add("seed", options.seed,
            "Seed of everything random: initial weights, sampling, shuffling, problems.",
            base::Range<std::int64_t>{0, std::numeric_limits<std::int64_t>::max()});
  table.add("hf-checkpoint", options.hf_checkpoint,
            "Hugging Face directory of the model: config.json, tokenizer.json and weights.");
  table.add_choice("init", options.initialise,
                   "Where the first weights come from: the directory, or random numbers.",
                   {"checkpoint", "random"});
  table.add(
      "save-hf", options.save_hf,
      "Directory that gets the final weights, as transformers loads them; {run}: the run's own.");
  table.add("log-level", options.log_level, "Least severity on the terminal.",
            {"debug", "info", "warning", "error"});
}

}  // namespace physarum::app
