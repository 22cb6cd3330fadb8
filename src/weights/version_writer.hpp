#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <span>

#include "physarum/storage/file_system.hpp"

#include "store_access.hpp"
#include "store_layout.hpp"
#include "version_source.hpp"
#include "weight_file.hpp"

namespace physarum::weights {

/// Brings each version from a buffer rank's window into a directory, once and in order, as files
/// that are complete or not there. The bytes are copied in a turn; a thread writes the copy, syncs,
/// renames and removes what nobody needs any more, one version at a time. While it is busy versions
/// wait in the window, and what a newer full image makes needless is left out.
///
/// A version that cannot be written is left out with a warning, and the next one is asked for in
/// full. Engines that read the files learn by the word `filed` that they need not wait for it.
class VersionWriter {
 public:
  /// Of as many deltas in a row, or as many bytes of them as the part has, a full image follows:
  /// readers have no longer way.
  static constexpr std::int64_t longest_chain = 64;

  /// All of it outlives the writer. Files are of the catalogue with this hash.
  VersionWriter(const StoreLayout& layout, int buffer, std::span<const std::byte> memory,
                StoreAccess& store, std::uint64_t catalogue, storage::FileSystem& files,
                std::filesystem::path directory);
  /// Waits for the thread.
  ~VersionWriter() = default;
  VersionWriter(const VersionWriter&) = delete;
  VersionWriter& operator=(const VersionWriter&) = delete;
  VersionWriter(VersionWriter&&) = delete;
  VersionWriter& operator=(VersionWriter&&) = delete;

  /// A turn; true if it did something. Does not wait for the disk but for the file's head.
  bool advance();
  /// Whether a copy of this version, or of a newer one, was taken: only then may its place in the
  /// window be used again.
  [[nodiscard]] bool has_taken(base::WeightVersion version) const { return version <= taken_; }
  /// Everything that the window holds is in the directory.
  [[nodiscard]] bool finished() const { return !writing_.valid() && !source_.next(taken_); }

 private:
  [[nodiscard]] WeightFileContent content_of(const VersionSource::Candidate& candidate,
                                             std::vector<VersionSource::Piece> pieces) const;
  void begin(WeightFileContent content);
  void bound_chain(const WeightFileContent& content);
  void say_filed();
  bool finish();
  void failed(const std::string& why);

  const StoreLayout& layout_;
  int buffer_;
  StoreAccess& store_;
  std::uint64_t catalogue_;
  storage::FileSystem& files_;
  std::filesystem::path directory_;
  VersionSource source_;
  base::WeightVersion taken_;
  std::int64_t chain_files_ = 0;  // deltas since the last full image
  std::int64_t chain_bytes_ = 0;
  std::filesystem::path temporary_;  // of the version that was begun last
  std::future<void> writing_;
};

}  // namespace physarum::weights
