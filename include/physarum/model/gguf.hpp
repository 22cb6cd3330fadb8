#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "physarum/storage/mapped_file.hpp"

#include "physarum/model/block_type.hpp"

namespace physarum::model {

/// Limits of what a GGUF file may ask of the reader; all inclusive.
struct GgufLimits {
  std::uint64_t entries = 1 << 16;  ///< of metadata
  std::uint64_t tensors = 1 << 17;
  std::uint64_t name_bytes = 1 << 10;    ///< of keys and tensors
  std::uint64_t string_bytes = 1 << 22;  ///< of one value, for example a chat template
  std::uint64_t array_items = 1 << 21;   ///< of one value, for example a vocabulary
  std::uint64_t alignment = 1 << 20;
  std::uint32_t dimensions = 4;  ///< as in ggml
};

/// One value of the metadata. Integers of all widths are 64-bit here.
using GgufValue =
    std::variant<bool, std::int64_t, std::uint64_t, float, double, std::string,
                 std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

struct GgufTensor {
  std::string name;
  BlockType type = BlockType::f32;
  std::vector<std::int64_t> shape;  ///< outermost first, as Hugging Face; the file has it reversed
  std::uint64_t begin = 0;          ///< in the file
  std::uint64_t end = 0;
  [[nodiscard]] std::int64_t elements() const;
};

/// What stands before the data. Checked: every length against what is left of the file before
/// memory is taken, sizes by checked arithmetic, whole blocks in a row, places aligned, inside the
/// file and without overlap, no key and no tensor twice, UTF-8 throughout.
struct GgufHeader {
  std::uint32_t version = 0;
  std::uint64_t alignment = 0;
  std::uint64_t data_begin = 0;  ///< in the file
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;  ///< in order of places

  [[nodiscard]] const GgufTensor* find(std::string_view tensor) const;
  /// nullptr if the key is missing; throws UserError with `where` if its value has another type.
  [[nodiscard]] const std::string* text(std::string_view key, std::string_view where) const;
  [[nodiscard]] const std::vector<std::string>* texts(std::string_view key,
                                                      std::string_view where) const;
  [[nodiscard]] const std::vector<std::int64_t>* integers(std::string_view key,
                                                          std::string_view where) const;
  /// Nothing if the key is missing; an integer of any width that is not negative.
  [[nodiscard]] std::optional<std::int64_t> count(std::string_view key,
                                                  std::string_view where) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view key, std::string_view where) const;
  /// A floating-point value (an integer is none), as the shortest decimal number that gives it.
  [[nodiscard]] std::optional<double> number(std::string_view key, std::string_view where) const;
};

/// Reads the header of a GGUF file of version 2 or 3, little-endian; `file`: all of it. Throws
/// UserError with `where`. Believes nothing: the bytes may be hostile.
[[nodiscard]] GgufHeader parse_gguf_header(std::span<const std::byte> file, std::string_view where,
                                           const GgufLimits& limits = {});

/// A GGUF file, mapped. Any thread. Throws UserError for a missing, truncated or foreign file.
class GgufFile {
 public:
  explicit GgufFile(const std::filesystem::path& path, const GgufLimits& limits = {});
  [[nodiscard]] const GgufHeader& header() const { return header_; }
  [[nodiscard]] const storage::MappedFile& file() const { return file_; }
  [[nodiscard]] std::string where() const { return file_.path().string(); }
  /// Reads elements [first, first + out.size()) of `tensor`, in row-major order, as fp32.
  void read(const GgufTensor& tensor, std::int64_t first, std::span<float> out) const;
  /// Gives the memory of the pages of `count` elements from `first` on back.
  void release(const GgufTensor& tensor, std::int64_t first, std::int64_t count) const noexcept;

 private:
  storage::MappedFile file_;
  GgufHeader header_;
};

}  // namespace physarum::model
