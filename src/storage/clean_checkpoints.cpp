#include "physarum/base/logging.hpp"

#include "physarum/storage/checkpoint_writer.hpp"
#include "physarum/storage/commit.hpp"

#include "checkpoint_names.hpp"

namespace physarum::storage {

void clean_checkpoints(FileSystem& files, const std::filesystem::path& directory) {
  for (const auto& name : files.list(directory)) {
    if (name.starts_with(attempt_prefix) || name.starts_with(trash_prefix) || is_temporary(name)) {
      base::log_info("removing what an interrupted save left: " + (directory / name).string());
      files.remove_tree(directory / name);
    }
  }
}

}  // namespace physarum::storage
