#pragma once

#include <optional>
#include <string>

#include "physarum/base/error.hpp"

#include "physarum/parallel/agree.hpp"

#include "physarum/storage/file.hpp"

#include "hdf5.hpp"

namespace physarum::storage {

enum class Access { read, write };

inline constexpr const char* format_attribute = "format";
inline constexpr const char* version_attribute = "format_version";
inline constexpr const char* digest_attribute = "digest";

struct File::Impl {
  std::filesystem::path path;
  Access access = Access::read;
  FileHandle handle;
  std::uint64_t bytes = 0;                       ///< of the file, when it was opened for reading
  const parallel::Communicator* comm = nullptr;  ///< writers; null: this rank alone
  bool failed = false;                           ///< a write failed: only abandon() may follow

  Impl() = default;
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  Impl(Impl&&) = delete;
  Impl& operator=(Impl&&) = delete;

  [[nodiscard]] const parallel::Communicator& writers() const;
  [[nodiscard]] bool shared() const { return writers().size() > 1; }
  /// "runs/a/samples.h5" or "runs/a/samples.h5:tokens", for messages.
  [[nodiscard]] std::string place(std::string_view object = "") const;
  [[noreturn]] void refuse(std::string_view object, std::string_view what,
                           std::string_view mend) const;

  /// Collective over the writers: runs `work`, then all ranks go on or all throw.
  template <class Work>
  void write_together(Work&& work) {
    base::expects(access == Access::write && !failed, "the file is open for writing and intact");
    failed = true;
    parallel::together(writers(), work);
    failed = false;
  }
};

/// The file behind a reader, without a rehearsal in a child (rehearsal.hpp).
[[nodiscard]] std::unique_ptr<File::Impl> open_unrehearsed(const std::filesystem::path& path);

/// A file whose bytes are known to be what its writer wrote: no rehearsal. (The child would also
/// make every page of this process's memory copy-on-write, which costs more than the reading.)
[[nodiscard]] File open_verified(const std::filesystem::path& path, const Format& format);

/// Does every part of the path exist, by links inside the file?
[[nodiscard]] bool has_object(hid_t file, std::string_view name);

/// A dataset that passed all checks of its form (dataset_info.cpp).
struct CheckedDataset {
  DatasetHandle handle;
  DatasetInfo info;
};
[[nodiscard]] CheckedDataset open_dataset(const File::Impl& file, std::string_view name);
/// The same, and it must hold this element.
[[nodiscard]] CheckedDataset open_dataset(const File::Impl& file, std::string_view name,
                                          Element element);

[[nodiscard]] ObjectHandle open_object(const File::Impl& file, std::string_view name);
void write_text_attribute(hid_t object, const char* name, std::string_view value);
/// None: there is no such attribute. Refuses anything but a fixed-length string.
[[nodiscard]] std::optional<std::string> read_text_attribute(const File::Impl& file,
                                                             std::string_view object,
                                                             std::string_view name);

/// Rows [first, first + count) of a dataset, as HDF5's selection in the file.
[[nodiscard]] SpaceHandle select_rows(const Extent& extent, std::uint64_t first,
                                      std::uint64_t count);
[[nodiscard]] std::uint64_t row_bytes(Element element, const Extent& extent);
void read_rows_of(const CheckedDataset& dataset, std::uint64_t first, std::span<std::byte> rows,
                  const std::string& place);

}  // namespace physarum::storage
