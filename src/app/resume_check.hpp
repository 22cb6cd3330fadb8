#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "physarum/storage/checkpoint.hpp"

#include "setup.hpp"

namespace physarum::app {

/// "lr: 1e-06 in the checkpoint, 2e-06 now", ...: what differs between the configuration of a
/// checkpoint (TOML; `where` is its place) and this run's, and may not.
[[nodiscard]] std::vector<std::string> configuration_differences(const std::string& saved_toml,
                                                                 const std::string& where,
                                                                 const Configuration& now);

/// Throws UserError if the checkpoint is of another model, was made with another configuration or
/// with other prompts; names every difference.
void require_same_run(const Setup& setup, const storage::CheckpointReader& checkpoint);

/// Throws UserError if open groups do not fit the run's groups or their store.
void require_fitting_groups(const Setup& setup, const buffer::BufferState& state,
                            const std::filesystem::path& path);

}  // namespace physarum::app
