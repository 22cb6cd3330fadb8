#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/storage/commit.hpp"

#include "physarum/weights/convert.hpp"

#include "physarum/model/safetensors.hpp"

namespace physarum::model {

namespace {

constexpr std::size_t header_alignment = 8;

std::string header_text(std::span<const TensorView> tensors, ElementType type) {
  nlohmann::ordered_json json;
  json["__metadata__"] = {{"format", "pt"}};
  std::uint64_t begin = 0;
  for (const auto& tensor : tensors) {
    const auto end = begin + tensor.values.size() * static_cast<std::uint64_t>(element_bytes(type));
    json[std::string(tensor.name)] = {
        {"dtype", type == ElementType::f32 ? "F32" : "BF16"},
        {"shape", std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end())},
        {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = json.dump();
  text.resize((text.size() + header_alignment - 1) / header_alignment * header_alignment, ' ');
  return text;
}

void write_values(std::ofstream& file, std::span<const float> values, ElementType type) {
  const auto transfer =
      type == ElementType::f32 ? weights::TransferType::f32 : weights::TransferType::bf16;
  std::array<std::byte, 1 << 16> piece;
  const auto width = static_cast<std::size_t>(element_bytes(type));
  const std::size_t piece_elements = piece.size() / width;
  for (std::size_t done = 0; done < values.size(); done += piece_elements) {
    const auto part = values.subspan(done, std::min(piece_elements, values.size() - done));
    const auto raw = std::span(piece).first(part.size() * width);
    weights::to_transfer(part, transfer, raw);
    file.write(reinterpret_cast<const char*>(raw.data()), static_cast<std::streamsize>(raw.size()));
  }
}

void write_file(const std::filesystem::path& path, std::span<const TensorView> tensors,
                ElementType type) {
  const std::string header = header_text(tensors, type);
  const std::uint64_t header_bytes = header.size();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  for (const auto& tensor : tensors) write_values(file, tensor.values, type);
  file.close();
  if (!file) {
    const int code = errno;
    throw base::WorldError("write " + path.string(), code, std::strerror(code));
  }
}

}  // namespace

void write_safetensors(storage::FileSystem& files, const std::filesystem::path& path,
                       std::span<const TensorView> tensors, ElementType type) {
  base::expects(type != ElementType::f16, "weights are written as f32 or bf16");
  const auto temporary = storage::temporary_path(path);
  try {
    write_file(temporary, tensors, type);
    files.sync_file(temporary);
    files.rename(temporary, path);
  } catch (...) {
    // The reason counts, not that the remains could not be removed either.
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
  files.sync_directory(path.has_parent_path() ? path.parent_path() : ".");
}

}  // namespace physarum::model
