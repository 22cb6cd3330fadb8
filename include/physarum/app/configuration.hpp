#pragma once

#include <string>
#include <vector>

#include "physarum/base/options.hpp"

#include "physarum/parallel/layout.hpp"

#include "physarum/weights/options.hpp"

#include "physarum/environment/options.hpp"
#include "physarum/environment/prompt_encoder.hpp"

#include "physarum/buffer/options.hpp"

#include "physarum/rollout/options.hpp"

#include "physarum/training/options.hpp"

#include "physarum/app/checkpoint_options.hpp"
#include "physarum/app/data_options.hpp"
#include "physarum/app/run_options.hpp"

namespace physarum::app {

/// Everything a user can set, by room.
struct Configuration {
  RunOptions run;
  CheckpointOptions checkpoint;
  DataOptions data;
  parallel::LayoutOptions layout;
  environment::EnvironmentOptions environment;
  environment::ChatOptions chat;
  buffer::BufferOptions buffer;
  rollout::RolloutOptions rollout;
  weights::WeightOptions weights;
  training::TrainingOptions training;

  /// Each room's checks, then those between rooms. Throws UserError.
  void validate() const;
};

/// Declares every flag of the commands that run the circle or a part of it.
void declare_options(base::OptionTable& table, Configuration& configuration);

/// Reads `[CONFIG.toml] [--flag value ...]`; flags win over the file. Throws UserError. Does not
/// validate. Every rank reads for itself.
[[nodiscard]] Configuration read_configuration(const std::vector<std::string>& arguments);

/// The resolved configuration as TOML.
[[nodiscard]] std::string to_toml(const Configuration& configuration);

}  // namespace physarum::app
