#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "physarum/app/run_options.hpp"

namespace physarum::app {

/// runs_dir/run_name.
[[nodiscard]] std::filesystem::path run_directory(const RunOptions& options);

/// Where the final weights go: --save-hf with {run} replaced by the run's directory; empty:
/// nowhere.
[[nodiscard]] std::filesystem::path save_directory(const RunOptions& options);

/// The same replacement in another path.
[[nodiscard]] std::filesystem::path in_run(const std::string& path, const RunOptions& options);

/// A name of the run that no other has; it tells whether a directory is this run's.
[[nodiscard]] std::string new_run_id();
/// The one that a run's directory says; empty if none.
[[nodiscard]] std::string read_run_id(const std::filesystem::path& directory);
void write_run_id(const std::filesystem::path& directory, const std::string& id);

/// `taken`.1, .2, ...: the first that is not there.
[[nodiscard]] std::filesystem::path free_name(const std::filesystem::path& taken);

/// One rank calls it, before anything is written. Makes the run's directory; one that holds an
/// earlier run is first renamed to NAME.1, NAME.2, ... so that nothing is lost or mixed up. Proves
/// by a file that it can be written. Returns the new name of the earlier run. Throws UserError.
std::optional<std::filesystem::path> prepare_run_directory(const std::filesystem::path& directory);

/// One rank calls it when a run goes on in its directory from `step` finished steps: files of
/// samples and evaluations that the interrupted run wrote after that point go to superseded/<n>/,
/// so that what stays is one run's. Evaluations of `open_evaluations` are made again.
void set_aside_later_outputs(const std::filesystem::path& directory, std::int64_t step,
                             const std::vector<std::int64_t>& open_evaluations);

/// Writes the resolved configuration as config.toml into the run's directory.
void write_configuration(const std::filesystem::path& directory, const std::string& toml);

}  // namespace physarum::app
