#include <algorithm>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/model/safetensors.hpp"

#include "strict_json.hpp"

namespace physarum::model {

namespace {

constexpr std::uint64_t largest_offset = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void refuse(std::string_view where, const std::string& name, const std::string& what) {
  throw base::UserError("tensor '" + name + "' " + what, where,
                        "the file is damaged or of another kind");
}

std::optional<ElementType> element_type(const std::string& text) {
  if (text == "F32") return ElementType::f32;
  if (text == "BF16") return ElementType::bf16;
  if (text == "F16") return ElementType::f16;
  return std::nullopt;
}

/// An unsigned integer up to `most`; nothing else (no 1.0, no -1, no "1").
std::uint64_t checked_integer(const nlohmann::json& value, std::uint64_t most,
                              const std::string& name, const char* field, std::string_view where) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
    refuse(where, name, std::string("has a ") + field + " out of range");
  }
  return value.get<std::uint64_t>();
}

const nlohmann::json& member(const nlohmann::json& info, const char* field, const std::string& name,
                             std::string_view where) {
  const auto at = info.find(field);
  if (at == info.end()) refuse(where, name, std::string("has no ") + field);
  return *at;
}

ElementType read_type(const nlohmann::json& info, const std::string& name, std::string_view where) {
  const auto& value = member(info, "dtype", name, where);
  const auto type = value.is_string() ? element_type(value.get<std::string>()) : std::nullopt;
  if (!type) {
    throw base::UserError("tensor '" + name + "' has dtype " + value.dump(), where,
                          "F32, BF16 and F16 are supported");
  }
  return *type;
}

std::vector<std::int64_t> read_shape(const nlohmann::json& info, const std::string& name,
                                     std::string_view where, const SafetensorsLimits& limits) {
  const auto& value = member(info, "shape", name, where);
  if (!value.is_array() || value.size() > limits.dimensions) {
    refuse(where, name, "has a shape that is no list or has too many dimensions");
  }
  std::vector<std::int64_t> shape;
  for (const auto& extent : value) {
    shape.push_back(
        static_cast<std::int64_t>(checked_integer(extent, largest_offset, name, "shape", where)));
  }
  return shape;
}

/// Bytes that shape and type ask for, at most `most`.
std::uint64_t checked_bytes(const StoredTensor& tensor, std::uint64_t most,
                            std::string_view where) {
  auto bytes = static_cast<std::uint64_t>(element_bytes(tensor.type));
  if (std::ranges::find(tensor.shape, 0) != tensor.shape.end()) return 0;
  for (const auto extent : tensor.shape) {
    const auto count = static_cast<std::uint64_t>(extent);
    if (bytes > most / count) refuse(where, tensor.name, "is larger than its file");
    bytes *= count;
  }
  return bytes;
}

StoredTensor read_tensor(const std::string& name, const nlohmann::json& info,
                         std::uint64_t data_bytes, std::string_view where,
                         const SafetensorsLimits& limits) {
  if (name.empty() || name.size() > limits.name_bytes)
    refuse(where, name.substr(0, 40), "has a bad name");
  if (!info.is_object()) refuse(where, name, "is not described by an object");
  StoredTensor tensor;
  tensor.name = name;
  tensor.type = read_type(info, name, where);
  tensor.shape = read_shape(info, name, where, limits);
  const auto& offsets = member(info, "data_offsets", name, where);
  if (!offsets.is_array() || offsets.size() != 2) refuse(where, name, "has bad data_offsets");
  tensor.begin = checked_integer(offsets[0], data_bytes, name, "data_offset", where);
  tensor.end = checked_integer(offsets[1], data_bytes, name, "data_offset", where);
  if (tensor.begin > tensor.end ||
      tensor.end - tensor.begin != checked_bytes(tensor, data_bytes, where)) {
    refuse(where, name, "has data_offsets that do not fit its shape and dtype");
  }
  return tensor;
}

std::map<std::string, std::string> read_metadata(const nlohmann::json& json,
                                                 std::string_view where) {
  std::map<std::string, std::string> metadata;
  if (!json.is_object())
    throw base::UserError("__metadata__ is no object", where, "the file is damaged");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string())
      throw base::UserError("__metadata__ holds more than strings", where, "the file is damaged");
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

/// Tensors side by side from 0 to the end: no hole to hide data in, no overlap.
void check_cover(std::vector<StoredTensor>& tensors, std::uint64_t data_bytes,
                 std::string_view where) {
  std::ranges::sort(tensors, [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const auto& tensor : tensors) {
    if (tensor.begin != end) refuse(where, tensor.name, "overlaps another one or leaves a hole");
    end = tensor.end;
  }
  if (end != data_bytes) {
    throw base::UserError("the tensors cover " + std::to_string(end) + " of " +
                              std::to_string(data_bytes) + " bytes of data",
                          where, "the file is damaged or not complete");
  }
}

}  // namespace

std::int64_t element_bytes(ElementType type) { return block_form(block_type(type)).bytes; }

BlockType block_type(ElementType type) {
  if (type == ElementType::f32) return BlockType::f32;
  return type == ElementType::bf16 ? BlockType::bf16 : BlockType::f16;
}

std::int64_t StoredTensor::elements() const {
  return static_cast<std::int64_t>(end - begin) / element_bytes(type);
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           std::string_view where,
                                           const SafetensorsLimits& limits) {
  base::expects(data_bytes <= largest_offset, "a file has no more bytes than an offset can count");
  if (json.empty() || json.front() != '{') {
    throw base::UserError("is not a safetensors file", where, "its header must be a JSON object");
  }
  const auto parsed = parse_strict_json(json, where);
  SafetensorsHeader header;
  for (const auto& [name, info] : parsed.items()) {
    if (name == "__metadata__") {
      header.metadata = read_metadata(info, where);
    } else {
      header.tensors.push_back(read_tensor(name, info, data_bytes, where, limits));
    }
  }
  check_cover(header.tensors, data_bytes, where);
  return header;
}

}  // namespace physarum::model
