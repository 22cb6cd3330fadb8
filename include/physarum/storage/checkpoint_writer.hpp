#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "physarum/parallel/communicator.hpp"

#include "physarum/storage/checkpoint.hpp"

namespace physarum::storage {

/// This rank's part of a bulk dataset. `begin` is a multiple of share_alignment, and so is the end,
/// unless it is the dataset's.
struct BulkShare {
  std::size_t dataset = 0;
  std::uint64_t begin = 0;  ///< in bytes
  std::span<const std::byte> bytes;
};
inline constexpr std::uint64_t share_alignment = 4096;

/// Shares of data that every rank holds whole: `whole[i]` are the bytes of `datasets[i]`; about the
/// same number of bytes for each of `ranks`.
[[nodiscard]] std::vector<BulkShare> split_evenly(std::span<const BulkDataset> datasets,
                                                  std::span<const std::span<const std::byte>> whole,
                                                  int rank, int ranks);

struct CheckpointContent {
  std::int64_t step = 0;
  std::int64_t weight_version = 0;
  std::string program_version;
  std::vector<std::string> hosts;
  std::vector<BulkDataset> bulk;    ///< the same on all ranks
  std::vector<BulkShare> shares;    ///< mine; all ranks' shares cover every dataset once
  std::function<void(File&)> rest;  ///< on the first rank: writes everything that is not bulk
};

enum class SaveMode {
  wait,       ///< begin() returns when the checkpoint is complete or has failed
  background  ///< the shares are copied; a thread per rank writes them while the caller goes on
};

struct SaveOutcome {
  std::int64_t step = 0;
  bool good = false;
  std::string text;  ///< what went wrong
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  double seconds = 0;  ///< from begin() to the end
};

struct WriterOptions {
  std::filesystem::path directory;
  std::int64_t keep = 0;   ///< newest checkpoints that are kept; 0: all
  double timeout_s = 600;  ///< how long the ranks wait for one another
};

/// Writes checkpoints of a group of ranks: all of one, or nothing of it. Bulk data is written by
/// one thread per rank, without MPI and without HDF5: each writes its shares to their places,
/// syncs, then reads its neighbour's back. The first rank's thread joins the digests, writes the
/// manifest and renames. The threads tell one another how far they are by small files in the
/// temporary directory.
///
/// A failure is no exception: training goes on, and the outcome says it.
class CheckpointWriter {
 public:
  /// `files` and `writers` outlive it.
  CheckpointWriter(FileSystem& files, WriterOptions options, const parallel::Communicator& writers);
  /// Waits for this rank's thread.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  CheckpointWriter(CheckpointWriter&&) = delete;
  CheckpointWriter& operator=(CheckpointWriter&&) = delete;

  /// Collective. Waits for the save before, serving the progress hooks.
  void begin(const CheckpointContent& content, SaveMode mode);
  /// Waits for this rank's thread, serving the progress hooks.
  void wait();
  /// First rank: outcomes since the last call, oldest first. Others: none.
  [[nodiscard]] std::vector<SaveOutcome> take_outcomes();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// This rank alone, at the start of a run that holds the directory's lock: removes what dead
/// attempts left.
void clean_checkpoints(FileSystem& files, const std::filesystem::path& directory);

}  // namespace physarum::storage
