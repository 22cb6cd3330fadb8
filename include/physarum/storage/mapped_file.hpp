#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace physarum::storage {

/// A whole file mapped into memory, read-only, for files from strangers that are larger than what
/// is needed of them: only pages that are looked at are read. Move-only; any thread.
///
/// The size is the one at opening. A file that somebody truncates meanwhile is noticed at the next
/// bytes(); a truncation while the returned bytes are looked at ends the process by SIGBUS, as with
/// any mapping: whoever replaces a file that others read must rename a new one over it.
class MappedFile {
 public:
  /// Throws UserError if `path` is missing, unreadable or no regular file, WorldError if it cannot
  /// be mapped. An empty file is allowed.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&&) noexcept;
  MappedFile& operator=(MappedFile&&) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] std::uint64_t size() const;

  /// The bytes [offset, offset + count); they must lie inside size(). Valid as long as the object.
  /// Throws UserError if the file has become shorter.
  [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t offset, std::uint64_t count) const;
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes(0, size()); }

  /// A hint: these bytes are read soon. Returns at once.
  void expect(std::uint64_t offset, std::uint64_t count) const noexcept;
  /// Gives the memory of the pages that lie wholly inside the range back; they stay in the page
  /// cache, and are read again if they are looked at again.
  void release(std::uint64_t offset, std::uint64_t count) const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::storage
