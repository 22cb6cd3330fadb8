#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "physarum/app/run_options.hpp"

namespace physarum::app {

/// runs_dir/run_name.
[[nodiscard]] std::filesystem::path run_directory(const RunOptions& options);

/// Where the final weights go: --save-hf with {run} replaced by the run's directory; empty:
/// nowhere.
[[nodiscard]] std::filesystem::path save_directory(const RunOptions& options);

/// One rank calls it, before anything is written. Makes the run's directory; one that holds an
/// earlier run is first renamed to NAME.1, NAME.2, ... so that nothing is lost or mixed up. Proves
/// by a file that it can be written. Returns the new name of the earlier run. Throws UserError.
std::optional<std::filesystem::path> prepare_run_directory(const std::filesystem::path& directory);

/// Writes the resolved configuration as config.toml into the run's directory.
void write_configuration(const std::filesystem::path& directory, const std::string& toml);

}  // namespace physarum::app
