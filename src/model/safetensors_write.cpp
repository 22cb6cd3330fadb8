#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/storage/commit.hpp"

#include "physarum/weights/convert.hpp"

#include "physarum/model/safetensors.hpp"

#include "half.hpp"

namespace physarum::model {

namespace {

constexpr std::size_t header_alignment = 8;

std::int64_t elements_of(const TensorView& tensor) {
  std::int64_t count = 1;
  for (const auto extent : tensor.shape) count *= extent;
  return count;
}

std::string header_text(std::span<const TensorView> tensors, ElementType type) {
  nlohmann::ordered_json json;
  json["__metadata__"] = {{"format", "pt"}};
  std::uint64_t begin = 0;
  for (const auto& tensor : tensors) {
    const auto end = begin + static_cast<std::uint64_t>(elements_of(tensor) * element_bytes(type));
    json[std::string(tensor.name)] = {
        {"dtype", block_form(block_type(type)).name},
        {"shape", std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end())},
        {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = json.dump();
  text.resize((text.size() + header_alignment - 1) / header_alignment * header_alignment, ' ');
  return text;
}

/// Rounds `values` to `type`; `tensor` for messages.
void encode(std::span<const float> values, ElementType type, std::string_view tensor,
            std::span<std::byte> raw) {
  if (type != ElementType::f16) {
    const auto transfer =
        type == ElementType::f32 ? weights::TransferType::f32 : weights::TransferType::bf16;
    return weights::to_transfer(values, transfer, raw);
  }
  bool fits = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = f16_from_float(values[i]);
    fits = fits && (std::isfinite(float_from_f16(half)) || !std::isfinite(values[i]));
    std::memcpy(raw.data() + 2 * i, &half, sizeof half);
  }
  if (fits) return;
  throw base::UserError("tensor '" + std::string(tensor) + "' has values that f16 cannot hold",
                        "--dtype f16", "use bf16 or f32");
}

void write_values(std::ofstream& file, const TensorView& tensor, std::size_t index,
                  const ReadValues& read, ElementType type) {
  constexpr std::int64_t piece_elements = std::int64_t{1} << 18;
  const auto width = static_cast<std::size_t>(element_bytes(type));
  const std::int64_t elements = elements_of(tensor);
  std::vector<float> values(static_cast<std::size_t>(std::min(piece_elements, elements)));
  std::vector<std::byte> raw(values.size() * width);
  for (std::int64_t done = 0; done < elements; done += piece_elements) {
    const auto part = std::span(values).first(
        static_cast<std::size_t>(std::min(piece_elements, elements - done)));
    const auto bytes = std::span(raw).first(part.size() * width);
    read(index, done, part);
    encode(part, type, tensor.name, bytes);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
}

void write_file(const std::filesystem::path& path, std::span<const TensorView> tensors,
                const ReadValues& read, ElementType type) {
  const std::string header = header_text(tensors, type);
  const std::uint64_t header_bytes = header.size();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  for (std::size_t i = 0; i < tensors.size() && file; ++i) {
    write_values(file, tensors[i], i, read, type);
  }
  file.close();
  if (!file) {
    const int code = errno;
    throw base::WorldError("write " + path.string(), code, std::strerror(code));
  }
}

}  // namespace

void write_safetensors(storage::FileSystem& files, const std::filesystem::path& path,
                       std::span<const TensorView> tensors, const ReadValues& read,
                       ElementType type) {
  const auto temporary = storage::temporary_path(path);
  try {
    write_file(temporary, tensors, read, type);
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

void write_safetensors(storage::FileSystem& files, const std::filesystem::path& path,
                       std::span<const TensorView> tensors, ElementType type) {
  for (const auto& tensor : tensors) {
    base::expects(static_cast<std::int64_t>(tensor.values.size()) == elements_of(tensor),
                  "a tensor has as many values as its shape says");
  }
  const auto copy = [&](std::size_t tensor, std::int64_t first, std::span<float> out) {
    std::ranges::copy(tensors[tensor].values.subspan(static_cast<std::size_t>(first), out.size()),
                      out.begin());
  };
  write_safetensors(files, path, tensors, copy, type);
}

}  // namespace physarum::model
