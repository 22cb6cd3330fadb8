#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/storage/file_system.hpp"
#include "physarum/storage/mapped_file.hpp"

#include "physarum/model/block_type.hpp"

namespace physarum::model {

/// Limits of what a safetensors file may ask of the reader.
struct SafetensorsLimits {
  std::uint64_t header_bytes = 100'000'000;  ///< as in the reference implementation
  std::size_t name_bytes = 4096;
  std::size_t dimensions = 8;
};

enum class ElementType { f32, bf16, f16 };
[[nodiscard]] std::int64_t element_bytes(ElementType type);
[[nodiscard]] BlockType block_type(ElementType type);

/// One tensor of a file; the range [begin, end) counts from the start of the file's data part.
struct StoredTensor {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::int64_t elements() const;
};

/// What the header says, in order of offsets. Checked: sizes, types, shapes and offsets fit
/// together by checked arithmetic; the tensors cover the data part without hole or overlap; no name
/// twice.
struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
  std::uint64_t data_begin = 0;  ///< in the file
};

/// Checks and reads a header. `json`: the header's text; `data_bytes`: what follows it in the file.
/// Throws UserError with `where`. Believes nothing: the text may be hostile.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view json,
                                                         std::uint64_t data_bytes,
                                                         std::string_view where,
                                                         const SafetensorsLimits& limits = {});

/// The header of a whole file: its length, its text, and that the data is all there. Throws
/// UserError with `where`.
[[nodiscard]] SafetensorsHeader read_safetensors_header(std::span<const std::byte> file,
                                                        std::string_view where,
                                                        const SafetensorsLimits& limits = {});

/// A file, mapped into memory for reading. Any thread. Throws UserError for a missing, truncated or
/// foreign file.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path, const SafetensorsLimits& limits = {});
  [[nodiscard]] const SafetensorsHeader& header() const { return header_; }
  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }
  /// nullptr if there is none of that name.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// Reads elements [first, first + out.size()) of `tensor` as fp32; its pages do not stay in this
  /// process's memory.
  void read(const StoredTensor& tensor, std::int64_t first, std::span<float> out) const;
  /// Reads all of `tensor` (exactly its number of elements).
  void read(const StoredTensor& tensor, std::span<float> out) const;

 private:
  storage::MappedFile file_;
  SafetensorsHeader header_;
};

/// A tensor to be written.
struct TensorView {
  std::string_view name;
  std::span<const std::int64_t> shape;
  std::span<const float> values;
};

/// Reads elements [first, first + out.size()) of the tensor of that index.
using ReadValues =
    std::function<void(std::size_t tensor, std::int64_t first, std::span<float> out)>;

/// Writes one file with metadata {"format": "pt"}, elements rounded to `type` (to nearest, ties to
/// even). The file appears whole or not at all (temporary name, fsync, rename). Throws WorldError,
/// and UserError for a finite value that f16 cannot hold.
void write_safetensors(storage::FileSystem& files, const std::filesystem::path& path,
                       std::span<const TensorView> tensors, ElementType type);
/// The same for values that are read piece by piece while the file is written; `values` of the
/// views are not looked at.
void write_safetensors(storage::FileSystem& files, const std::filesystem::path& path,
                       std::span<const TensorView> tensors, const ReadValues& read,
                       ElementType type);

}  // namespace physarum::model
