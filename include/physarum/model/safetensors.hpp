#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/storage/file_system.hpp"

namespace physarum::model {

/// Limits of what a safetensors file may ask of the reader.
struct SafetensorsLimits {
  std::uint64_t header_bytes = 100'000'000;  ///< as in the reference implementation
  std::size_t name_bytes = 4096;
  std::size_t dimensions = 8;
};

enum class ElementType { f32, bf16, f16 };
[[nodiscard]] std::int64_t element_bytes(ElementType type);

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

/// A file opened for reading. One thread. Throws UserError for a missing, truncated or foreign
/// file.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path, const SafetensorsLimits& limits = {});
  [[nodiscard]] const SafetensorsHeader& header() const { return header_; }
  /// nullptr if there is none of that name.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// Reads `tensor` as fp32 into `out` (exactly its number of elements).
  void read(const StoredTensor& tensor, std::span<float> out);

 private:
  void read_bytes(std::uint64_t offset, std::span<std::byte> out);
  std::filesystem::path path_;
  std::ifstream file_;
  SafetensorsHeader header_;
};

/// A tensor to be written.
struct TensorView {
  std::string_view name;
  std::span<const std::int64_t> shape;
  std::span<const float> values;
};

/// Writes one file with metadata {"format": "pt"}, elements as f32 or bf16. The file appears whole
/// or not at all (temporary name, fsync, rename). Throws WorldError.
void write_safetensors(storage::FileSystem& files, const std::filesystem::path& path,
                       std::span<const TensorView> tensors, ElementType type);

}  // namespace physarum::model
