#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "physarum/parallel/layout.hpp"

#include "physarum/text/tokenizer.hpp"

#include "physarum/sample/prompt.hpp"

#include "physarum/weights/catalogue.hpp"

#include "physarum/model/config.hpp"
#include "physarum/model/parameter_store.hpp"

#include "physarum/environment/registry.hpp"

#include "physarum/app/configuration.hpp"

namespace physarum::app {

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
  weights::CataloguePtr catalogue;
  std::unique_ptr<environment::EnvironmentRegistry> environments;
  std::unique_ptr<sample::PromptSource> prompts;
  std::unique_ptr<sample::PromptSource> held_out;  ///< null: nothing to evaluate on
  /// The first weights, on ranks that hold them: trainers, or the head if there are none.
  std::unique_ptr<model::ParameterStore> initial;

  /// eval/<this> is the evaluation's metric.
  [[nodiscard]] std::string evaluation_name() const {
    return configuration.environment.environment;
  }
};

enum class Needs {
  circle,   ///< trainers and engines
  engines,  ///< engines alone
};

/// Collective over `world`. Reads and checks everything that the user gave; all ranks throw the
/// same UserError together. Writes nothing. `ranks`: plan for so many instead of the world's.
[[nodiscard]] Setup load_setup(const std::string& command,
                               const std::vector<std::string>& arguments, Needs needs,
                               const parallel::Communicator& world, int ranks = 0);

/// Collective over `world`. Makes the run's directory, starts logging, stores the configuration.
void start_run(const Setup& setup, const parallel::Communicator& world);

}  // namespace physarum::app
