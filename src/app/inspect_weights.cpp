#include "inspect_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "physarum/model/gguf.hpp"
#include "physarum/model/safetensors.hpp"

namespace physarum::app {

namespace {

using Path = std::filesystem::path;
using Lines = std::vector<std::string>;

constexpr std::size_t most_text_bytes = 160;

/// One line: JSON's escapes for what would not stay on it, and not too long.
std::string shown(const std::string& text) {
  auto line = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (line.size() <= most_text_bytes) return line;
  std::size_t end = most_text_bytes;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
  return line.substr(0, end) + "... (" + std::to_string(text.size()) + " bytes)";
}

template <class T>
std::string shown_list(const std::vector<T>& items) {
  constexpr std::size_t most_items = 4;
  nlohmann::json first = nlohmann::json::array();
  for (std::size_t i = 0; i < std::min(items.size(), most_items); ++i) first.push_back(items[i]);
  auto line = first.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (items.size() > most_items) line.back() = ',';
  return std::to_string(items.size()) + " items " +
         (items.size() > most_items ? line + " ...]" : line);
}

std::string shown(const model::GgufValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return shown(held);
        } else if constexpr (std::is_same_v<T, bool>) {
          return held ? "true" : "false";
        } else if constexpr (std::is_arithmetic_v<T>) {
          return nlohmann::json(held).dump();
        } else {
          return shown_list(held);
        }
      },
      value);
}

/// What is said of a tensor, whatever the file.
struct Entry {
  std::string name;
  model::BlockType type = model::BlockType::f32;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::uint64_t bytes = 0;
};

void add_tensors(const std::vector<Entry>& tensors, Lines& lines) {
  std::int64_t values = 0;
  std::uint64_t bytes = 0;
  std::map<std::string_view, std::int64_t> types;
  for (const auto& tensor : tensors) {
    values += tensor.elements;
    bytes += tensor.bytes;
    ++types[model::block_form(tensor.type).name];
  }
  std::string by_type;
  for (const auto& [type, count] : types) {
    by_type += (by_type.empty() ? " (" : ", ") + std::to_string(count) + " " + std::string(type);
  }
  lines.push_back("tensors: " + std::to_string(tensors.size()) + by_type +
                  (by_type.empty() ? "" : ")") + ", " + std::to_string(values) + " values, " +
                  std::to_string(bytes) + " bytes");
  for (const auto& tensor : tensors) {
    std::string shape;
    for (const auto extent : tensor.shape) {
      shape += (shape.empty() ? "" : " x ") + std::to_string(extent);
    }
    lines.push_back("tensor " + tensor.name + ": " +
                    std::string(model::block_form(tensor.type).name) + " [" + shape + "], " +
                    std::to_string(tensor.bytes) + " bytes");
  }
}

/// Reads all values; `read(tensor, first, out)`.
template <class Read>
void verify_values(const std::vector<Entry>& tensors, Read read, Inspection& found) {
  constexpr std::int64_t piece_elements = std::int64_t{1} << 18;
  std::vector<float> values(static_cast<std::size_t>(piece_elements));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::int64_t bad = 0;
    for (std::int64_t done = 0; done < tensors[i].elements; done += piece_elements) {
      const auto part = std::span(values).first(
          static_cast<std::size_t>(std::min(piece_elements, tensors[i].elements - done)));
      read(i, done, part);
      bad += std::ranges::count_if(part, [](float value) { return !std::isfinite(value); });
    }
    if (bad == 0) continue;
    found.good = false;
    found.lines.push_back("damaged: tensor " + tensors[i].name + " has " + std::to_string(bad) +
                          " values that are not finite");
  }
  if (found.good) found.lines.emplace_back("verified: all values are finite");
}

Inspection inspect_gguf(const Path& path, Verify verify) {
  const model::GgufFile file(path);
  const auto& header = file.header();
  Inspection found;
  found.lines.push_back("file: " + path.string());
  found.lines.push_back("format: GGUF, version " + std::to_string(header.version) + ", alignment " +
                        std::to_string(header.alignment));
  std::vector<Entry> tensors;
  for (const auto& tensor : header.tensors) {
    tensors.push_back(
        {tensor.name, tensor.type, tensor.shape, tensor.elements(), tensor.end - tensor.begin});
  }
  if (verify == Verify::data) {
    const auto read = [&](std::size_t tensor, std::int64_t first, std::span<float> out) {
      file.read(header.tensors[tensor], first, out);
      file.release(header.tensors[tensor], first, static_cast<std::int64_t>(out.size()));
    };
    verify_values(tensors, read, found);
  }
  for (const auto& [key, value] : header.metadata) found.lines.push_back(key + ": " + shown(value));
  add_tensors(tensors, found.lines);
  return found;
}

Inspection inspect_safetensors(const Path& path, Verify verify) {
  const model::SafetensorsFile file(path);
  const auto& header = file.header();
  Inspection found;
  found.lines.push_back("file: " + path.string());
  found.lines.emplace_back("format: safetensors");
  std::vector<Entry> tensors;
  for (const auto& tensor : header.tensors) {
    tensors.push_back({tensor.name, model::block_type(tensor.type), tensor.shape, tensor.elements(),
                       tensor.end - tensor.begin});
  }
  if (verify == Verify::data) {
    const auto read = [&](std::size_t tensor, std::int64_t first, std::span<float> out) {
      file.read(header.tensors[tensor], first, out);
    };
    verify_values(tensors, read, found);
  }
  for (const auto& [key, value] : header.metadata) found.lines.push_back(key + ": " + shown(value));
  add_tensors(tensors, found.lines);
  return found;
}

}  // namespace

bool is_weight_file(const Path& path) {
  return path.extension() == ".gguf" || path.extension() == ".safetensors";
}

Inspection inspect_weights(const Path& path, Verify verify) {
  return path.extension() == ".gguf" ? inspect_gguf(path, verify)
                                     : inspect_safetensors(path, verify);
}

}  // namespace physarum::app
