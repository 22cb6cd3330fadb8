#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "physarum/storage/checkpoint_writer.hpp"

namespace physarum::storage {

/// One checkpoint as one rank's thread sees it.
struct SaveJob {
  FileSystem* files = nullptr;
  std::filesystem::path directory;  ///< of all checkpoints
  std::filesystem::path attempt;    ///< temporary directory of this one, with the file in it
  int rank = 0;
  int ranks = 1;
  double timeout_s = 600;
  std::int64_t keep = 0;
  int threads = 1;
  std::vector<BulkShare> shares;  ///< mine
  CheckpointManifest manifest;    ///< digests are still missing
};

/// Writes, syncs and reads back; on the first rank also completes the checkpoint. No MPI, no HDF5.
/// Throws WorldError, DeadlineExceeded. Whatever it leaves behind is a temporary directory.
void run_save(const SaveJob& job);

/// After a failure on this rank: frees the disk space, tells the others.
void give_up_save(const SaveJob& job, const std::string& why) noexcept;

}  // namespace physarum::storage
