#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "physarum/parallel/communicator.hpp"

#include "physarum/storage/file.hpp"
#include "physarum/storage/file_system.hpp"

namespace physarum::storage {

/// The name under which `final_path` is written before it is committed, in the same directory. A
/// file of this name that is found later was left by a killed job and may be removed.
[[nodiscard]] std::filesystem::path temporary_path(const std::filesystem::path& final_path);
[[nodiscard]] bool is_temporary(const std::filesystem::path& path);

/// Collective over `comm`. Writes an HDF5 file so that `final_path` is either as it was before or
/// complete, whenever the job is killed: temporary name, `write`, flush, close, fsync, rename,
/// fsync of the directory. Makes the directory. If anything fails on any rank, the temporary file
/// is emptied and removed and all ranks throw the same error. `write` calls File's functions in the
/// same order on all ranks; errors of its own it must first agree upon (parallel::together()).
void commit_file(FileSystem& files, const std::filesystem::path& final_path,
                 const parallel::Communicator& comm, const Format& format,
                 const std::function<void(File&)>& write);

/// This rank alone. The same promise for a small text.
void commit_text(FileSystem& files, const std::filesystem::path& final_path,
                 std::string_view content);

/// This rank alone. Renames a complete directory (all files in it synced) and syncs its parent.
void commit_directory(FileSystem& files, const std::filesystem::path& temporary,
                      const std::filesystem::path& final_path);

}  // namespace physarum::storage
