#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/parameter_layout.hpp"

#include "read_file.hpp"
#include "strict_json.hpp"

namespace physarum::model {

namespace {

using Path = std::filesystem::path;
constexpr std::uint64_t largest_index_bytes = std::uint64_t{64} << 20;
constexpr std::size_t most_named = 5;

/// "a, b, c and 7 more"
std::string name_some(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most_named) {
    text += " and " + std::to_string(names.size() - most_named) + " more";
  }
  return text;
}

/// The shards that an index names; they must lie beside it.
std::set<std::string> shard_names(const Path& index_path) {
  const auto where = index_path.string();
  const auto json = parse_strict_json(read_file(index_path, largest_index_bytes), where);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) {
    throw base::UserError("has no weight_map", where, "give the index that belongs to the shards");
  }
  std::set<std::string> names;
  for (const auto& [tensor, shard] : map->items()) {
    const auto name = shard.is_string() ? shard.get<std::string>() : std::string();
    if (name.empty() || Path(name).filename() != name || name == "..") {
      throw base::UserError("puts tensor '" + tensor + "' into " + shard.dump(), where,
                            "a shard is a file name in the same directory");
    }
    names.insert(name);
  }
  return names;
}

std::vector<SafetensorsFile> open_files(const Path& directory) {
  std::vector<SafetensorsFile> files;
  const auto single = directory / "model.safetensors";
  const auto index = directory / "model.safetensors.index.json";
  std::error_code error;
  if (std::filesystem::exists(single, error)) {
    files.emplace_back(single);
    return files;
  }
  if (!std::filesystem::exists(index, error)) {
    throw base::UserError("has neither model.safetensors nor model.safetensors.index.json",
                          directory.string(), "give the directory of a Hugging Face model");
  }
  for (const auto& name : shard_names(index)) files.emplace_back(directory / name);
  return files;
}

/// Tensors that some exports carry and that hold no parameter of ours.
bool is_ignored(const std::string& name, const ModelConfig& config) {
  return name.ends_with("rotary_emb.inv_freq") ||
         (config.tie_word_embeddings && name == "lm_head.weight");
}

struct Found {
  SafetensorsFile* file;
  const StoredTensor* tensor;
};

std::map<std::string, Found, std::less<>> find_all(std::vector<SafetensorsFile>& files,
                                                   const ModelConfig& config,
                                                   const ParameterLayout& layout,
                                                   const Path& directory) {
  std::map<std::string, Found, std::less<>> found;
  std::vector<std::string> strangers;
  for (auto& file : files) {
    for (const auto& tensor : file.header().tensors) {
      if (is_ignored(tensor.name, config)) continue;
      if (layout.find(tensor.name) < 0) strangers.push_back(tensor.name);
      if (!found.emplace(tensor.name, Found{&file, &tensor}).second) {
        throw base::UserError("tensor '" + tensor.name + "' is in two shards", directory.string(),
                              "give each tensor once");
      }
    }
  }
  if (!strangers.empty()) {
    throw base::UserError("tensors that config.json does not explain: " + name_some(strangers),
                          directory.string(), "give weights and config.json of the same model");
  }
  return found;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return nlohmann::json(shape).dump();
}

void check_complete(const std::map<std::string, Found, std::less<>>& found,
                    const ParameterLayout& layout, const Path& directory) {
  std::vector<std::string> missing;
  for (const auto& place : layout.tensors()) {
    const auto at = found.find(place.name);
    if (at == found.end()) {
      missing.push_back(place.name);
    } else if (at->second.tensor->shape != place.shape) {
      throw base::UserError("tensor '" + place.name + "' has shape " +
                                shape_text(at->second.tensor->shape) + ", config.json asks for " +
                                shape_text(place.shape),
                            directory.string(), "give weights and config.json of the same model");
    }
  }
  if (!missing.empty()) {
    throw base::UserError("tensors are missing: " + name_some(missing), directory.string(),
                          "give all shards of the model that config.json describes");
  }
}

}  // namespace

void load_weights(const Path& directory, const ModelConfig& config, std::span<float> flat) {
  const ParameterLayout layout(config);
  base::expects(static_cast<std::int64_t>(flat.size()) == layout.total(),
                "the flat buffer was made for another model");
  auto files = open_files(directory);
  const auto found = find_all(files, config, layout, directory);
  check_complete(found, layout, directory);
  std::ranges::fill(flat, 0.0F);
  for (const auto& place : layout.tensors()) {
    const auto& [file, tensor] = found.find(place.name)->second;
    file->read(*tensor, flat.subspan(static_cast<std::size_t>(place.offset),
                                     static_cast<std::size_t>(place.size)));
  }
}

}  // namespace physarum::model
