#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/storage/commit.hpp"

#include "physarum/model/hf_directory.hpp"

namespace physarum::model {

namespace {

using Path = std::filesystem::path;

constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";
constexpr std::array tokenizer_files = {"tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "generation_config.json",
                                        "chat_template.jinja"};

void make_directory(storage::FileSystem& files, const Path& directory) {
  try {
    files.make_directories(directory);
  } catch (const base::WorldError& error) {
    throw base::UserError(std::string("cannot be made (") + error.what() + ")", directory.string(),
                          "give a directory that can be written");
  }
}

/// config.json with the type that the weights have beside it.
std::string config_text(const ModelConfig& config, ElementType type) {
  auto json = nlohmann::ordered_json::parse(config.to_json());
  const char* name = type == ElementType::f32    ? "float32"
                     : type == ElementType::bf16 ? "bfloat16"
                                                 : "float16";
  json[json.contains("dtype") ? "dtype" : "torch_dtype"] = name;
  return json.dump(2) + "\n";
}

/// A tensor that is written, and where it comes from.
struct Item {
  std::int64_t source = 0;
  TensorView view;
  std::int64_t bytes = 0;
};
using Shard = std::vector<Item>;

/// In the layout's order: as many to a shard as fit, one at least.
std::vector<Shard> plan_shards(const WeightSource& weights, const ParameterLayout& layout,
                               const ExportOptions& options) {
  std::vector<Shard> shards(1);
  std::int64_t bytes = 0;
  for (const auto& place : layout.tensors()) {
    const Item item{weights.find(place.name),
                    {place.name, place.shape, {}},
                    place.size * element_bytes(options.type)};
    if (!shards.back().empty() && bytes + item.bytes > options.max_shard_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(item);
    bytes += item.bytes;
  }
  return shards;
}

void write_shard(storage::FileSystem& files, const Path& path, const WeightSource& weights,
                 const Shard& shard, ElementType type) {
  std::vector<TensorView> views;
  for (const auto& item : shard) views.push_back(item.view);
  write_safetensors(
      files, path, views,
      [&](std::size_t tensor, std::int64_t first, std::span<float> out) {
        weights.read(shard[tensor].source, first, out);
      },
      type);
}

std::string shard_name(std::size_t number, std::size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", number, count);
  return name;
}

void write_shards(storage::FileSystem& files, const Path& directory, const WeightSource& weights,
                  const std::vector<Shard>& shards, ElementType type) {
  nlohmann::ordered_json index;
  std::int64_t total = 0;
  index["metadata"]["total_size"] = total;
  auto& map = index["weight_map"] = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto name = shard_name(i + 1, shards.size());
    write_shard(files, directory / name, weights, shards[i], type);
    for (const auto& item : shards[i]) {
      map[std::string(item.view.name)] = name;
      total += item.bytes;
    }
  }
  index["metadata"]["total_size"] = total;
  storage::commit_text(files, directory / index_name, index.dump(2) + "\n");
}

/// Of an earlier export into the same directory: what it left would be found first.
void remove_other_form(storage::FileSystem& files, const Path& directory, const char* name) {
  if (files.exists(directory / name)) files.remove(directory / name);
}

void write_weights(storage::FileSystem& files, const Path& directory, const WeightSource& weights,
                   const ParameterLayout& layout, const ExportOptions& options) {
  const auto shards = plan_shards(weights, layout, options);
  if (shards.size() == 1) {
    write_shard(files, directory / single_name, weights, shards.front(), options.type);
    return remove_other_form(files, directory, index_name);
  }
  write_shards(files, directory, weights, shards, options.type);
  remove_other_form(files, directory, single_name);
}

}  // namespace

SmallFiles read_tokenizer_files(storage::FileSystem& files, const Path& directory) {
  SmallFiles found;
  for (const char* name : tokenizer_files) {
    if (files.exists(directory / name)) found[name] = files.read_file(directory / name);
  }
  return found;
}

void save_hf(storage::FileSystem& files, const Path& directory, const ModelConfig& config,
             const WeightSource& weights, const SmallFiles& small, const ExportOptions& options) {
  const ParameterLayout layout(config);
  check_weights(weights, config, layout);
  make_directory(files, directory);
  for (const auto& [name, text] : small) storage::commit_text(files, directory / name, text);
  storage::commit_text(files, directory / "config.json", config_text(config, options.type));
  write_weights(files, directory, weights, layout, options);
}

void save_hf(storage::FileSystem& files, const Path& directory, const ModelConfig& config,
             std::span<const float> flat, const Path& tokenizer_directory,
             const ExportOptions& options) {
  const ParameterLayout layout(config);
  const auto weights = view_weights(layout, flat);
  std::error_code error;
  SmallFiles small;
  if (!tokenizer_directory.empty() &&
      !std::filesystem::equivalent(tokenizer_directory, directory, error)) {
    small = read_tokenizer_files(files, tokenizer_directory);
  }
  save_hf(files, directory, config, *weights, small, options);
}

}  // namespace physarum::model
