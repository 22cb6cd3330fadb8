#pragma once

#include "inspect.hpp"

namespace physarum::app {

/// One checkpoint, from its step's directory.
[[nodiscard]] Inspection inspect_checkpoint(const std::filesystem::path& directory, Verify verify);
/// All of a directory, a line each, newest first.
[[nodiscard]] Inspection inspect_checkpoints(const std::filesystem::path& directory, Verify verify);

}  // namespace physarum::app
