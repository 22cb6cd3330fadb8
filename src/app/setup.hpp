#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "physarum/parallel/layout.hpp"

#include "physarum/text/tokenizer.hpp"

#include "physarum/storage/directory_lock.hpp"

#include "physarum/sample/prompt.hpp"

#include "physarum/weights/catalogue.hpp"

#include "physarum/model/config.hpp"
#include "physarum/model/parameter_store.hpp"

#include "physarum/environment/prompt_encoder.hpp"
#include "physarum/environment/registry.hpp"

#include "physarum/buffer/buffer_state.hpp"

#include "physarum/training/trainer.hpp"

#include "physarum/app/configuration.hpp"

namespace physarum::app {

/// The checkpoint that a training run goes on from.
struct Resume {
  std::filesystem::path path;         ///< the step's directory
  std::int64_t step = 0;              ///< finished steps; also the weights' version
  std::string run_id;                 ///< of the run that wrote it
  std::vector<std::int64_t> damaged;  ///< newer ones beside it that do not verify
  std::shared_ptr<const buffer::BufferState> buffer;
  std::optional<training::OptimiserMemory> optimiser;  ///< on trainer ranks
};

/// Prompts to evaluate on; eval/<name> is the metric.
struct HeldOut {
  std::string name;
  std::unique_ptr<sample::PromptSource> prompts;
};

/// What every rank of a command loads before roles begin: the same on all ranks.
struct Setup {
  std::string command;
  Configuration configuration;
  std::string toml;  ///< resolved configuration, stored in every output
  std::filesystem::path directory;
  std::int64_t steps = 0;  ///< rollout steps of a training run
  parallel::RankLayout plan;
  model::ModelConfig model;
  text::Tokenizer tokenizer;
  environment::PromptEncoder prompt_encoder;
  weights::CataloguePtr catalogue;
  std::unique_ptr<environment::EnvironmentRegistry> environments;
  std::unique_ptr<sample::PromptSource> prompts;
  std::vector<HeldOut> held_out;  ///< none: nothing to evaluate on
  /// The first weights, on ranks that hold them: trainers, or the head if there are none.
  std::unique_ptr<model::ParameterStore> initial;
  std::int64_t weight_version = 0;  ///< of `initial` where nothing trains
  std::optional<Resume> resume;
  std::string run_id;
  std::vector<std::string> hosts;  ///< of all ranks, each once
  /// When the command began, for this machine's ranks together, and how many they are. Known if a
  /// share of it is asked for.
  std::int64_t usable_memory_bytes = 0;
  std::int64_t ranks_here = 1;
  std::vector<storage::DirectoryLock> locks;  ///< on rank 0: the directories that it writes to

  /// Where checkpoints go; empty: nowhere.
  [[nodiscard]] std::filesystem::path checkpoints() const;
  [[nodiscard]] std::int64_t first_step() const { return resume ? resume->step : 0; }
};

enum class Needs {
  circle,   ///< trainers and engines
  engines,  ///< engines alone
};

/// Collective over `world`. Reads and checks everything that the user gave; all ranks throw the
/// same UserError together. Writes nothing; start_run() reads the weights. `ranks`: plan for so
/// many instead of the world's.
[[nodiscard]] Setup load_setup(const std::string& command,
                               const std::vector<std::string>& arguments, Needs needs,
                               const parallel::Communicator& world, int ranks = 0);

}  // namespace physarum::app
