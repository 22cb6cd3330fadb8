#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace physarum::storage {

/// In which order a file is going to be read.
enum class ReadOrder { scattered, sequential };

/// A file open for bulk data at given places. Any thread, several at a time for different ranges.
/// Functions throw WorldError.
class RangeFile {
 public:
  RangeFile() = default;
  virtual ~RangeFile() = default;
  RangeFile(const RangeFile&) = delete;
  RangeFile& operator=(const RangeFile&) = delete;
  RangeFile(RangeFile&&) = delete;
  RangeFile& operator=(RangeFile&&) = delete;

  virtual void write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  /// The file's end before the span is full is an error.
  virtual void read_at(std::uint64_t offset, std::span<std::byte> bytes) = 0;
  /// A hint for the reads that follow.
  virtual void expect(ReadOrder order) = 0;
  /// Data and size reach the disk before it returns.
  virtual void sync() = 0;
};

enum class RangeAccess { read, write };

/// Every step on the file system that durability depends on, so that tests can make each one fail.
/// Functions throw WorldError with call, path and the system's text. Any thread.
class FileSystem {
 public:
  using Path = std::filesystem::path;
  FileSystem() = default;
  virtual ~FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  FileSystem(FileSystem&&) = delete;
  FileSystem& operator=(FileSystem&&) = delete;

  /// Atomic within a file system; replaces a file at `to`.
  virtual void rename(const Path& from, const Path& to) = 0;
  /// Data and size reach the disk before it returns.
  virtual void sync_file(const Path& path) = 0;
  /// Names in the directory reach the disk.
  virtual void sync_directory(const Path& path) = 0;
  /// A file or an empty directory; a missing one is not an error.
  virtual void remove(const Path& path) = 0;
  /// A directory and all in it; a missing one is not an error.
  virtual void remove_tree(const Path& path) = 0;
  virtual void truncate(const Path& path, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual bool exists(const Path& path) = 0;
  [[nodiscard]] virtual std::uint64_t file_bytes(const Path& path) = 0;
  /// Names (not paths) in a directory, sorted; none if it does not exist.
  [[nodiscard]] virtual std::vector<std::string> list(const Path& directory) = 0;
  [[nodiscard]] virtual std::uint64_t free_bytes(const Path& directory) = 0;
  /// With parents; an existing one is not an error.
  virtual void make_directories(const Path& path) = 0;
  virtual void write_file(const Path& path, std::string_view content) = 0;
  [[nodiscard]] virtual std::string read_file(const Path& path) = 0;
  /// Opens an existing file.
  [[nodiscard]] virtual std::unique_ptr<RangeFile> open_ranges(const Path& path,
                                                               RangeAccess access) = 0;
};

/// The operating system's.
[[nodiscard]] FileSystem& real_file_system();

}  // namespace physarum::storage
