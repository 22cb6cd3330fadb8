#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace physarum::app {

enum class Verify {
  data,    ///< read everything and compare digests
  nothing  ///< say what the files claim
};

/// What one path holds, as lines for people; `good` false: some of it is damaged.
struct Inspection {
  std::vector<std::string> lines;
  bool good = true;
};

/// A file of samples or prompts, a checkpoint, a directory of checkpoints, a run's directory, any
/// other HDF5 file, or a GGUF or safetensors file. This rank alone. Throws UserError if it is none
/// of these or cannot be read.
[[nodiscard]] Inspection inspect(const std::filesystem::path& path, Verify verify);

}  // namespace physarum::app
