#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <set>
#include <utility>

#include "physarum/base/error.hpp"

#include "physarum/model/gguf.hpp"

#include "gguf_cursor.hpp"
#include "gguf_metadata.hpp"

namespace physarum::model {

namespace {

constexpr std::uint32_t magic = 0x46554747;  // "GGUF"
constexpr std::uint64_t default_alignment = 32;
constexpr std::uint64_t largest_place = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t least_tensor_bytes = 8 + 1 + 4 + 8 + 4 + 8;

/// ggml's numbers of types. Empty: no such type, or one that ggml has given up.
constexpr std::array<std::string_view, 40> ggml_names{
    "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
    "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};
constexpr std::array readable{BlockType::f32,  BlockType::f16,  BlockType::bf16, BlockType::q8_0,
                              BlockType::q4_0, BlockType::q4_1, BlockType::q4_k, BlockType::q6_k};

BlockType block_type(std::uint32_t number, const std::string& tensor, std::string_view where) {
  const auto name = number < ggml_names.size() ? ggml_names[number] : std::string_view();
  const auto at = std::ranges::find(readable, name, [](BlockType t) { return block_form(t).name; });
  if (at != readable.end()) return *at;
  throw base::UserError("tensor '" + tensor + "' has " +
                            (name.empty() ? "the unknown type " + std::to_string(number)
                                          : "type " + std::string(name)),
                        where, "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K and Q6_K are supported");
}

void check_version(GgufCursor& cursor, std::string_view where, GgufHeader& header) {
  if (cursor.left() < 4 || cursor.get<std::uint32_t>("the magic") != magic) {
    throw base::UserError("is not a GGUF file", where, "its first four bytes must be GGUF");
  }
  header.version = cursor.get<std::uint32_t>("the version");
  if (header.version == 2 || header.version == 3) return;
  const bool swapped = (header.version & 0xFFFFU) == 0;
  throw base::UserError(
      swapped ? "is a big-endian GGUF file" : "has GGUF version " + std::to_string(header.version),
      where, "little-endian files of versions 2 and 3 are supported");
}

std::uint64_t alignment_of(const GgufHeader& header, std::string_view where,
                           const GgufLimits& limits) {
  const auto given = header.count("general.alignment", where);
  const auto alignment = given ? static_cast<std::uint64_t>(*given) : default_alignment;
  if (std::has_single_bit(alignment) && alignment <= limits.alignment) return alignment;
  throw base::UserError("general.alignment is " + std::to_string(alignment), where,
                        "it must be a power of two up to " + std::to_string(limits.alignment));
}

class TensorReader {
 public:
  TensorReader(GgufCursor& cursor, std::string_view where, const GgufLimits& limits)
      : cursor_(cursor), where_(where), limits_(limits) {}

  /// `begin` and `end` count from the start of the data.
  GgufTensor read() {
    GgufTensor tensor;
    tensor.name = cursor_.text("a tensor's name", limits_.name_bytes);
    if (tensor.name.empty()) cursor_.refuse("a tensor has no name");
    const std::uint64_t elements = read_shape(tensor);
    tensor.type = block_type(cursor_.get<std::uint32_t>("a tensor's type"), tensor.name, where_);
    tensor.begin = cursor_.get<std::uint64_t>("a tensor's offset");
    const auto& form = block_form(tensor.type);
    if (tensor.shape.back() % form.elements != 0) {
      refuse(tensor, "has rows of " + std::to_string(tensor.shape.back()) +
                         " elements, which are no whole blocks of " + std::string(form.name));
    }
    const std::uint64_t bytes = elements / static_cast<std::uint64_t>(form.elements) *
                                static_cast<std::uint64_t>(form.bytes);
    if (tensor.begin > largest_place - bytes) refuse(tensor, "lies beyond the end of the file");
    tensor.end = tensor.begin + bytes;
    return tensor;
  }

  [[noreturn]] void refuse(const GgufTensor& tensor, const std::string& what) const {
    throw base::UserError("tensor '" + tensor.name + "' " + what, where_,
                          "the file is damaged or not complete; get it again");
  }

 private:
  /// Returns the number of elements: so few that neither they nor their bytes overflow.
  std::uint64_t read_shape(GgufTensor& tensor) {
    const auto dimensions = cursor_.get<std::uint32_t>("a tensor's dimensions");
    if (dimensions < 1 || dimensions > limits_.dimensions) {
      refuse(tensor, "has " + std::to_string(dimensions) + " dimensions");
    }
    std::uint64_t elements = 1;
    for (std::uint32_t i = 0; i < dimensions; ++i) {
      const auto extent = cursor_.get<std::uint64_t>("a tensor's shape");
      if (extent < 1 || extent > largest_place / 8 / elements) {
        refuse(tensor, "has an extent of " + std::to_string(extent));
      }
      elements *= extent;
      tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(extent));
    }
    return elements;
  }

  GgufCursor& cursor_;
  std::string_view where_;
  const GgufLimits& limits_;
};

/// From offsets in the data to places in the file.
void place_tensors(GgufHeader& header, std::uint64_t file_bytes, const TensorReader& reader) {
  std::ranges::sort(header.tensors, {}, &GgufTensor::begin);
  std::uint64_t free = 0;
  for (auto& tensor : header.tensors) {
    if (tensor.begin % header.alignment != 0) {
      reader.refuse(tensor, "begins at " + std::to_string(tensor.begin) +
                                ", which the alignment of " + std::to_string(header.alignment) +
                                " does not divide");
    }
    if (header.data_begin > file_bytes || tensor.end > file_bytes - header.data_begin) {
      reader.refuse(tensor, "lies beyond the end of the file");
    }
    if (tensor.begin < free) reader.refuse(tensor, "overlaps another one");
    free = tensor.end;
    tensor.begin += header.data_begin;
    tensor.end += header.data_begin;
  }
}

}  // namespace

std::int64_t GgufTensor::elements() const {
  std::int64_t count = 1;
  for (const auto extent : shape) count *= extent;
  return count;
}

const GgufTensor* GgufHeader::find(std::string_view tensor) const {
  const auto at = std::ranges::find(tensors, tensor, &GgufTensor::name);
  return at == tensors.end() ? nullptr : &*at;
}

GgufHeader parse_gguf_header(std::span<const std::byte> file, std::string_view where,
                             const GgufLimits& limits) {
  GgufCursor cursor(file, where);
  GgufHeader header;
  check_version(cursor, where, header);
  const auto tensors = cursor.get<std::uint64_t>("the number of tensors");
  const auto entries = cursor.get<std::uint64_t>("the number of metadata entries");
  header.metadata = read_gguf_metadata(cursor, entries, limits);
  header.alignment = alignment_of(header, where, limits);
  cursor.need_items(tensors, least_tensor_bytes, limits.tensors, "the list of tensors");
  TensorReader reader(cursor, where, limits);
  std::set<std::string, std::less<>> names;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    header.tensors.push_back(reader.read());
    const auto& tensor = header.tensors.back();
    if (!names.insert(tensor.name).second) reader.refuse(tensor, "is there twice");
  }
  header.data_begin = (cursor.place() + header.alignment - 1) / header.alignment * header.alignment;
  place_tensors(header, file.size(), reader);
  return header;
}

GgufFile::GgufFile(const std::filesystem::path& path, const GgufLimits& limits)
    : file_(path), header_(parse_gguf_header(file_.bytes(), path.string(), limits)) {}

void GgufFile::read(const GgufTensor& tensor, std::int64_t first, std::span<float> out) const {
  decode_range(tensor.type, file_.bytes(tensor.begin, tensor.end - tensor.begin), first, out);
}

void GgufFile::release(const GgufTensor& tensor, std::int64_t first,
                       std::int64_t count) const noexcept {
  const auto& form = block_form(tensor.type);
  const std::int64_t begin = first / form.elements;
  const std::int64_t end = (first + count + form.elements - 1) / form.elements;
  file_.release(tensor.begin + static_cast<std::uint64_t>(begin * form.bytes),
                static_cast<std::uint64_t>((end - begin) * form.bytes));
}

}  // namespace physarum::model
