#pragma once

#include <filesystem>

namespace physarum::storage {

enum class Rehearsal {
  survived,  ///< the library went through everything, with or without errors
  died,      ///< it crashed, or did not come to an end
};

/// HDF5 1.10 may crash on a damaged file, and damaged files are what users have after a bad night.
/// So a child process goes first: it opens the file and visits every object, attribute and chunk as
/// a reader would. What kills the child will not be shown to this process.
[[nodiscard]] Rehearsal rehearse_reading(const std::filesystem::path& path);

}  // namespace physarum::storage
