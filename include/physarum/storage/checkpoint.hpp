#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/base/error.hpp"

#include "physarum/storage/file.hpp"
#include "physarum/storage/file_system.hpp"

namespace physarum::storage {

/// A directory of checkpoints holds step-<N>/ with checkpoint.h5 and manifest.json, the hint
/// `latest`, and the lock of the run that writes. docs/formats/checkpoint.md.
inline constexpr const char* checkpoint_file_name = "checkpoint.h5";
inline constexpr const char* manifest_file_name = "manifest.json";
inline constexpr const char* latest_file_name = "latest";
[[nodiscard]] Format checkpoint_format();
[[nodiscard]] std::string checkpoint_name(std::int64_t step);

/// Bulk data of a checkpoint: a contiguous dataset that the ranks write in shares, past HDF5.
struct BulkDataset {
  std::string name;
  Element element = Element::f32;
  Extent extent;
  [[nodiscard]] std::uint64_t bytes() const;
};

/// Where one lies in the file, and what it should be.
struct BulkPlace {
  BulkDataset dataset;
  std::uint64_t offset = 0;
  std::string digest;  ///< of its bytes, as File's digests
};

/// What makes a checkpoint one: written last, guarded by its own digest. Every byte of the file is
/// either in a bulk dataset or under `rest_digest`.
struct CheckpointManifest {
  std::int64_t step = 0;  ///< finished rollout steps
  std::int64_t weight_version = 0;
  std::string program_version;
  std::string written;  ///< UTC, ISO 8601
  std::vector<std::string> hosts;
  std::uint64_t file_bytes = 0;
  std::string rest_digest;
  /// By offset; while it is being written, in the order of its content.
  std::vector<BulkPlace> bulk;

  [[nodiscard]] std::string to_text() const;
  /// Throws DamagedCheckpoint, or UserError for a newer version; `where` is the place in messages.
  [[nodiscard]] static CheckpointManifest from_text(std::string_view text,
                                                    const std::string& where);
};

/// A checkpoint is not what its writer wrote: an older one may be. Its message names the file.
class DamagedCheckpoint : public base::UserError {
 public:
  DamagedCheckpoint(std::string_view what_is_wrong, std::string_view where)
      : UserError(what_is_wrong, where, "take an older checkpoint") {}
};

/// Steps of all checkpoints in the directory, newest first; none if there is no such directory.
[[nodiscard]] std::vector<std::int64_t> list_checkpoints(FileSystem& files,
                                                         const std::filesystem::path& directory);

/// Is this one step's directory, intact or not?
[[nodiscard]] bool is_checkpoint(FileSystem& files, const std::filesystem::path& path);

/// A checkpoint open for reading. Nothing that was not verified is handed out. This rank alone.
class CheckpointReader {
 public:
  /// Checks the manifest, the file's size and all of it but the bulk data. Throws
  /// DamagedCheckpoint; UserError for a version that is not known here.
  CheckpointReader(FileSystem& files, std::filesystem::path step_directory);

  [[nodiscard]] const CheckpointManifest& manifest() const { return manifest_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Everything but the bulk data.
  [[nodiscard]] const File& file() const { return file_; }
  /// Null if there is none of this name.
  [[nodiscard]] const BulkPlace* find(std::string_view name) const;
  /// Reads and verifies a whole dataset. Throws DamagedCheckpoint; UserError if it is missing or of
  /// another element or extent (a checkpoint of another model).
  template <Storable T>
  void read(std::string_view name, const Extent& extent, std::span<T> values) const {
    read_raw(name, element_of<T>(), extent, std::as_writable_bytes(values));
  }
  /// Reads all bulk data piece by piece. Throws DamagedCheckpoint.
  void verify() const;

 private:
  void verify_rest() const;
  /// Reads a place, piece by piece, to where `memory(piece)` says, and compares its digest.
  template <class Memory>
  void read_place(const BulkPlace& place, const Memory& memory) const;
  void read_raw(std::string_view name, Element element, const Extent& extent,
                std::span<std::byte> values) const;
  std::filesystem::path path_;  ///< of the HDF5 file
  std::unique_ptr<RangeFile> ranges_;
  CheckpointManifest manifest_;
  File file_;
};

}  // namespace physarum::storage
