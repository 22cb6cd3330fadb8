#pragma once

#include <string>
#include <vector>

#include "physarum/base/error.hpp"

#include "physarum/parallel/communicator.hpp"

namespace physarum::app {

/// One word after `physarum` on the command line.
struct Command {
  const char* name;
  const char* arguments;  ///< for the usage line
  const char* help;       ///< one sentence
  /// Runs it. Collective over `world`. A UserError that it throws must be thrown by all ranks
  /// (parallel::together); it is printed by rank 0. Anything else ends the job.
  base::ExitCode (*run)(const std::vector<std::string>& arguments, parallel::Communicator& world);
};

[[nodiscard]] const std::vector<Command>& commands();

base::ExitCode run_train(const std::vector<std::string>& arguments, parallel::Communicator& world);
base::ExitCode run_evaluate(const std::vector<std::string>& arguments,
                            parallel::Communicator& world);
base::ExitCode run_generate(const std::vector<std::string>& arguments,
                            parallel::Communicator& world);
base::ExitCode run_convert(const std::vector<std::string>& arguments,
                           parallel::Communicator& world);
base::ExitCode run_inspect(const std::vector<std::string>& arguments,
                           parallel::Communicator& world);
base::ExitCode run_check(const std::vector<std::string>& arguments, parallel::Communicator& world);

}  // namespace physarum::app
