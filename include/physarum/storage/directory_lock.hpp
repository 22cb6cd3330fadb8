#pragma once

#include <filesystem>
#include <string>

#include "physarum/base/handle.hpp"

namespace physarum::storage {

struct LockTraits {
  using value_type = int;
  static constexpr base::ReleaseKind kind = base::ReleaseKind::local;
  static constexpr const char* name = "directory lock";
  static value_type null() { return -1; }
  static bool alive() noexcept { return true; }
  static void release(value_type descriptor);
};

/// Keeps other jobs from writing to a directory while this process lives. The kernel gives the lock
/// back when the process ends, however it ends. On a file system without locks the file's text
/// decides: who wrote it, and whether that process may still live.
class DirectoryLock {
 public:
  /// Makes `directory`/.lock, with host, process, job and time in it. Throws UserError that names
  /// the holder if another process has it, and if the directory cannot be written.
  explicit DirectoryLock(const std::filesystem::path& directory);

 private:
  base::Handle<LockTraits> descriptor_;
};

}  // namespace physarum::storage
