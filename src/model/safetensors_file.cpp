#include <algorithm>
#include <cstring>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/model/safetensors.hpp"

namespace physarum::model {

namespace {

[[noreturn]] void refuse(std::string_view where, const std::string& what) {
  throw base::UserError(what, where, "give a complete safetensors file");
}

}  // namespace

SafetensorsHeader read_safetensors_header(std::span<const std::byte> file, std::string_view where,
                                          const SafetensorsLimits& limits) {
  std::uint64_t header_bytes = 0;
  if (file.size() < sizeof header_bytes) refuse(where, "is too short");
  std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
  const auto rest = file.subspan(sizeof header_bytes);
  if (header_bytes > std::min<std::uint64_t>(limits.header_bytes, rest.size())) {
    refuse(where, "has a header that is longer than the file or the limit");
  }
  const std::string_view json(reinterpret_cast<const char*>(rest.data()),
                              static_cast<std::size_t>(header_bytes));
  auto header = parse_safetensors_header(json, rest.size() - header_bytes, where, limits);
  header.data_begin = sizeof header_bytes + header_bytes;
  return header;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, const SafetensorsLimits& limits)
    : file_(path), header_(read_safetensors_header(file_.bytes(), path.string(), limits)) {}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto at = std::ranges::find(header_.tensors, name, &StoredTensor::name);
  return at == header_.tensors.end() ? nullptr : &*at;
}

void SafetensorsFile::read(const StoredTensor& tensor, std::int64_t first,
                           std::span<float> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  base::expects(first >= 0 && first <= tensor.elements() && count <= tensor.elements() - first,
                "the range lies inside the tensor");
  const auto width = static_cast<std::uint64_t>(element_bytes(tensor.type));
  const std::uint64_t begin =
      header_.data_begin + tensor.begin + static_cast<std::uint64_t>(first) * width;
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * width;
  decode_blocks(block_type(tensor.type), file_.bytes(begin, bytes), out);
  file_.release(begin, bytes);
}

void SafetensorsFile::read(const StoredTensor& tensor, std::span<float> out) const {
  base::expects(static_cast<std::int64_t>(out.size()) == tensor.elements(),
                "the destination must have the tensor's size");
  read(tensor, 0, out);
}

}  // namespace physarum::model
