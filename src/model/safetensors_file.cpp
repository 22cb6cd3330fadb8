#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/weights/convert.hpp"

#include "physarum/model/safetensors.hpp"

#include "half.hpp"

namespace physarum::model {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& what) {
  throw base::UserError(what, path.string(), "give a complete safetensors file");
}

void convert(std::span<const std::byte> raw, ElementType type, std::span<float> out) {
  if (type == ElementType::f32) {
    return weights::from_transfer(raw, weights::TransferType::f32, out);
  }
  if (type == ElementType::bf16) {
    return weights::from_transfer(raw, weights::TransferType::bf16, out);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, raw.data() + 2 * i, 2);
    out[i] = float_from_f16(half);
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, const SafetensorsLimits& limits)
    : path_(path), file_(path, std::ios::binary) {
  std::error_code error;
  const std::uint64_t file_bytes = std::filesystem::file_size(path, error);
  if (error || !file_) {
    throw base::UserError("cannot be read", path.string(), "check the path and its permissions");
  }
  std::uint64_t header_bytes = 0;
  if (file_bytes < sizeof header_bytes) refuse(path, "is too short");
  read_bytes(0, std::as_writable_bytes(std::span(&header_bytes, 1)));
  const std::uint64_t most = std::min(limits.header_bytes, file_bytes - sizeof header_bytes);
  if (header_bytes > most) refuse(path, "has a header that is longer than the file or the limit");
  std::string json(static_cast<std::size_t>(header_bytes), '\0');
  read_bytes(sizeof header_bytes, std::as_writable_bytes(std::span(json)));
  const std::uint64_t data_begin = sizeof header_bytes + header_bytes;
  header_ = parse_safetensors_header(json, file_bytes - data_begin, path.string(), limits);
  header_.data_begin = data_begin;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto at = std::ranges::find(header_.tensors, name, &StoredTensor::name);
  return at == header_.tensors.end() ? nullptr : &*at;
}

void SafetensorsFile::read(const StoredTensor& tensor, std::span<float> out) {
  base::expects(static_cast<std::int64_t>(out.size()) == tensor.elements(),
                "the destination must have the tensor's size");
  std::array<std::byte, 1 << 16> piece;
  const auto width = static_cast<std::size_t>(element_bytes(tensor.type));
  const std::size_t piece_elements = piece.size() / width;
  for (std::size_t done = 0; done < out.size(); done += piece_elements) {
    const auto part = out.subspan(done, std::min(piece_elements, out.size() - done));
    const auto raw = std::span(piece).first(part.size() * width);
    read_bytes(header_.data_begin + tensor.begin + done * width, raw);
    convert(raw, tensor.type, part);
  }
}

void SafetensorsFile::read_bytes(std::uint64_t offset, std::span<std::byte> out) {
  file_.seekg(static_cast<std::streamoff>(offset));
  file_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  if (!file_) refuse(path_, "ended while it was read");
}

}  // namespace physarum::model
