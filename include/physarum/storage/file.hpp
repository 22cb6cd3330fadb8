#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/parallel/communicator.hpp"

#include "physarum/storage/element.hpp"

namespace physarum::storage {

/// Sizes of a dataset, outermost first. Rows are what the first one counts.
using Extent = std::vector<std::uint64_t>;

/// Product of the sizes; throws ContractViolation on overflow.
[[nodiscard]] std::uint64_t count_elements(std::span<const std::uint64_t> extent);

/// What a file claims to be: attributes `format` and `format_version` of its root.
struct Format {
  std::string name;          ///< "physarum.samples"
  std::int64_t version = 1;  ///< written; on reading the newest that we understand
};

enum class DatasetLayout {
  contiguous,  ///< early-allocated, independent transfers; the default
  /// Chunked with Fletcher32: any HDF5 reader notices flipped bits. In a shared file transfers are
  /// collective, and HDF5 1.10 then hangs the other ranks if the write of one fails (a full disk):
  /// only for files that one rank writes, or where the deadline may end the job.
  checked,
};

struct DatasetOptions {
  DatasetLayout layout = DatasetLayout::contiguous;
  std::uint64_t chunk_bytes = 1 << 20;  ///< aim for the size of a chunk (whole rows)
};

struct DatasetInfo {
  Element element = Element::u8;
  Extent extent;  ///< for text: empty
  std::uint64_t bytes = 0;
  bool has_digest = false;
};

/// An HDF5 file that Physarum wrote or writes. Plain fixed-size types only; no links out of the
/// file, no filters but Fletcher32. Names of datasets and groups are paths from the root
/// ("optimizer/step"); groups in between are made on writing. One thread per process uses files.
///
/// Writing is Collective over the communicator given to create(): all its ranks call the same
/// functions with the same names, extents and attributes. Each call ends in agreement: if one rank
/// fails, all throw together (WorldError). A failed file can only be abandon()ed.
///
/// Reading is each rank's own affair (every rank opens the file by itself, read-only), except where
/// marked Collective. What is wrong with a file is the user's error: UserError with file, what is
/// wrong and how to mend it; never a crash, never HDF5's own output.
class File {
 public:
  File() noexcept;
  ~File();
  File(File&&) noexcept;
  File& operator=(File&&);
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Collective. Creates or truncates `path`. With the null communicator or one rank it is a plain
  /// serial file. Most callers want commit_file() (commit.hpp), which survives being killed.
  /// `metadata_block_bytes`: HDF5's own data is kept together in blocks of this size (0: HDF5's
  /// choice, 2 KiB), for files of many large datasets.
  [[nodiscard]] static File create(const std::filesystem::path& path,
                                   const parallel::Communicator& comm, const Format& format,
                                   std::uint64_t metadata_block_bytes = 0);
  /// This rank alone. Throws UserError if the file is missing, empty, cut off, no HDF5, of another
  /// format or newer than `format.version`.
  [[nodiscard]] static File open_read(const std::filesystem::path& path, const Format& format);
  /// Collective: all ranks open, or all throw the same error.
  [[nodiscard]] static File open_read(const std::filesystem::path& path, const Format& format,
                                      const parallel::Communicator& comm);
  /// This rank alone. Opens a file of any format (the `inspect` command).
  [[nodiscard]] static File open_any(const std::filesystem::path& path);

  [[nodiscard]] bool valid() const noexcept { return impl_ != nullptr; }
  [[nodiscard]] const std::filesystem::path& path() const;
  /// What the file says about itself; name empty if it says nothing.
  [[nodiscard]] Format format() const;

  /// Collective when writing. Flushes HDF5's buffers to the operating system (no fsync).
  void flush();
  /// Collective when writing. The file is invalid afterwards.
  void close();
  /// This rank alone (every writer calls it). After an error: empties the file on disk, and closes
  /// it if nobody shares it, because HDF5 hangs or crashes when it closes a shared file on a full
  /// disk. Never throws.
  void abandon() noexcept;

  // ---- groups and names
  /// Collective.
  void create_group(std::string_view name);
  /// Names in a group ("" is the root), sorted; groups end in '/'.
  [[nodiscard]] std::vector<std::string> list(std::string_view group = "") const;
  /// Every dataset's path, sorted.
  [[nodiscard]] std::vector<std::string> datasets() const;
  [[nodiscard]] bool contains(std::string_view name) const;
  [[nodiscard]] DatasetInfo info(std::string_view name) const;

  // ---- datasets
  /// Collective. Creates a dataset and writes it: this rank gives whole rows from `first_row` on
  /// (maybe none); the ranks' rows must cover the dataset exactly once. `extent` is global. Also
  /// stores the digest of the data, computed from memory before it is written.
  template <Storable T>
  void write_dataset(std::string_view name, const Extent& extent, std::uint64_t first_row,
                     std::span<const T> rows, const DatasetOptions& options = {}) {
    write_raw(name, element_of<T>(), extent, first_row, std::as_bytes(rows), options);
  }
  /// Collective. One-dimensional, in rank order: rank 0's values first. Returns this rank's first
  /// row.
  template <Storable T>
  std::uint64_t write_concatenated(std::string_view name, std::span<const T> mine,
                                   const DatasetOptions& options = {}) {
    const std::uint64_t first = first_of_mine(mine.size());
    write_dataset(name, Extent{total_of_all(mine.size())}, first, mine, options);
    return first;
  }
  /// This rank alone has created the file. Makes a contiguous dataset whose data is written later
  /// past HDF5, by whoever knows its place (FileSystem::open_ranges); returns that place, in bytes
  /// from the file's start. It has no digest.
  std::uint64_t reserve_dataset(std::string_view name, Element element, const Extent& extent);
  /// Collective. A text (UTF-8, any length) as one fixed-length string; every rank gives the same.
  void write_text(std::string_view name, std::string_view text);

  /// The whole dataset, on this rank; digest verified if there is one. `expected`: if given, the
  /// extent must equal it; a size of `any_size` fits every size.
  template <Storable T>
  [[nodiscard]] std::vector<T> read_dataset(std::string_view name,
                                            const std::optional<Extent>& expected = {}) const {
    std::vector<T> values(elements_for(name, element_of<T>(), expected));
    read_all_raw(name, element_of<T>(), std::as_writable_bytes(std::span<T>(values)));
    return values;
  }
  /// Whole dataset into memory of exactly its size; digest verified.
  template <Storable T>
  void read_dataset_into(std::string_view name, std::span<T> values) const {
    read_all_raw(name, element_of<T>(), std::as_writable_bytes(values));
  }
  /// Rows from `first_row` on; not verified (a digest covers the whole dataset).
  template <Storable T>
  void read_rows(std::string_view name, std::uint64_t first_row, std::span<T> rows) const {
    read_rows_raw(name, element_of<T>(), first_row, std::as_writable_bytes(rows));
  }
  [[nodiscard]] std::string read_text(std::string_view name) const;

  /// Collective over `comm`, each rank reading its share: does the data still have its digest?
  /// All ranks throw UserError if not, naming the dataset. Datasets without digest pass.
  void verify(std::string_view name, const parallel::Communicator& comm) const;
  /// The same for every dataset of the file.
  void verify_all(const parallel::Communicator& comm) const;
  /// Collective over `comm`: reads rows as read_rows() does and verifies. The ranks' rows must
  /// cover the dataset exactly once.
  template <Storable T>
  void read_share(std::string_view name, std::uint64_t first_row, std::span<T> rows,
                  const parallel::Communicator& comm) const {
    read_share_raw(name, element_of<T>(), first_row, std::as_writable_bytes(rows), comm);
  }

  // ---- attributes, of the root (""), a group or a dataset
  /// Collective. Strings up to 60 KiB; longer texts: write_text().
  void set_attribute(std::string_view object, std::string_view name, std::string_view value);
  void set_attribute(std::string_view object, std::string_view name, const char* value);
  void set_attribute(std::string_view object, std::string_view name, std::int64_t value);
  void set_attribute(std::string_view object, std::string_view name, double value);
  [[nodiscard]] bool has_attribute(std::string_view object, std::string_view name) const;
  /// Throws UserError if missing or of another type.
  [[nodiscard]] std::string string_attribute(std::string_view object, std::string_view name) const;
  [[nodiscard]] std::int64_t integer_attribute(std::string_view object,
                                               std::string_view name) const;
  [[nodiscard]] double number_attribute(std::string_view object, std::string_view name) const;
  /// Names, sorted.
  [[nodiscard]] std::vector<std::string> attributes(std::string_view object) const;
  /// An attribute of any type as text (the `inspect` command).
  [[nodiscard]] std::string attribute_text(std::string_view object, std::string_view name) const;

  static constexpr std::uint64_t any_size = ~std::uint64_t{0};

  struct Impl;

  explicit File(std::unique_ptr<Impl> impl) noexcept;

 private:
  void write_raw(std::string_view name, Element element, const Extent& extent,
                 std::uint64_t first_row, std::span<const std::byte> rows,
                 const DatasetOptions& options);
  [[nodiscard]] std::uint64_t first_of_mine(std::uint64_t count) const;
  [[nodiscard]] std::uint64_t total_of_all(std::uint64_t count) const;
  [[nodiscard]] std::size_t elements_for(std::string_view name, Element element,
                                         const std::optional<Extent>& expected) const;
  void read_all_raw(std::string_view name, Element element, std::span<std::byte> values) const;
  void read_rows_raw(std::string_view name, Element element, std::uint64_t first_row,
                     std::span<std::byte> rows) const;
  void read_share_raw(std::string_view name, Element element, std::uint64_t first_row,
                      std::span<std::byte> rows, const parallel::Communicator& comm) const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::storage
