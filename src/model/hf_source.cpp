// The weights of a Hugging Face directory: one safetensors file, or shards and their index.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "physarum/base/error.hpp"

#include "physarum/model/safetensors.hpp"

#include "name_some.hpp"
#include "read_file.hpp"
#include "strict_json.hpp"
#include "weight_sources.hpp"

namespace physarum::model {

namespace {

using Path = std::filesystem::path;
constexpr std::uint64_t largest_index_bytes = std::uint64_t{64} << 20;

/// Shard of every tensor.
using WeightMap = std::map<std::string, std::string, std::less<>>;

bool lies_beside(const std::string& shard) {
  return !shard.empty() && Path(shard).filename() == shard && shard != ".." && shard != ".";
}

/// The index's weight_map; the shards must lie beside it.
WeightMap read_index(const Path& path) {
  const auto where = path.string();
  const auto json = parse_strict_json(read_file(path, largest_index_bytes), where);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) {
    throw base::UserError("has no weight_map", where, "give the index that belongs to the shards");
  }
  WeightMap shards;
  for (const auto& [tensor, shard] : map->items()) {
    const auto name = shard.is_string() ? shard.get<std::string>() : std::string();
    if (!lies_beside(name)) {
      throw base::UserError("puts tensor '" + tensor + "' into " + shard.dump(), where,
                            "a shard is a file name in the same directory");
    }
    shards.emplace(tensor, name);
  }
  return shards;
}

/// Each shard holds the tensors that the index puts into it, and no others.
void check_shard(const SafetensorsFile& file, const std::string& shard, const WeightMap& index,
                 const Path& index_path) {
  std::vector<std::string> foreign;
  for (const auto& tensor : file.header().tensors) {
    const auto at = index.find(tensor.name);
    if (at == index.end() || at->second != shard) foreign.push_back(tensor.name);
  }
  if (!foreign.empty()) {
    throw base::UserError(
        "shard '" + shard +
            "' holds tensors that the index does not put there: " + name_some(foreign),
        index_path.string(), "give shards and index of one model");
  }
  std::vector<std::string> missing;
  for (const auto& [tensor, its_shard] : index) {
    if (its_shard == shard && file.find(tensor) == nullptr) missing.push_back(tensor);
  }
  if (missing.empty()) return;
  throw base::UserError("shard '" + shard + "' lacks tensors: " + name_some(missing),
                        index_path.string(), "give shards and index of one model");
}

std::vector<SafetensorsFile> open_shards(const Path& index_path) {
  const auto index = read_index(index_path);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : index) shards.insert(shard);
  std::vector<SafetensorsFile> files;
  for (const auto& shard : shards) {
    const auto path = index_path.parent_path() / shard;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      throw base::UserError("names shard '" + shard + "', which is not there", index_path.string(),
                            "put all shards beside the index");
    }
    files.emplace_back(path);
    check_shard(files.back(), shard, index, index_path);
  }
  return files;
}

std::vector<SourceTensor> tensors_of(const std::vector<SafetensorsFile>& files) {
  std::vector<SourceTensor> tensors;
  for (const auto& file : files) {
    for (const auto& tensor : file.header().tensors) {
      tensors.push_back({tensor.name, tensor.shape, block_type(tensor.type)});
    }
  }
  return tensors;
}

class SafetensorsSource final : public WeightSource {
 public:
  SafetensorsSource(const std::string& where, std::vector<SafetensorsFile> files)
      : WeightSource(where, tensors_of(files)), files_(std::move(files)) {
    for (std::size_t file = 0; file < files_.size(); ++file) {
      const auto count = files_[file].header().tensors.size();
      for (std::size_t tensor = 0; tensor < count; ++tensor) places_.push_back({file, tensor});
    }
  }

 private:
  void read_elements(std::size_t tensor, std::int64_t first, std::span<float> out) const override {
    const auto& file = files_[places_[tensor].file];
    file.read(file.header().tensors[places_[tensor].tensor], first, out);
  }

  struct Place {
    std::size_t file;
    std::size_t tensor;
  };
  std::vector<SafetensorsFile> files_;
  std::vector<Place> places_;
};

}  // namespace

std::unique_ptr<WeightSource> open_safetensors(const Path& path) {
  std::vector<SafetensorsFile> files;
  files.emplace_back(path);
  return std::make_unique<SafetensorsSource>(path.string(), std::move(files));
}

std::unique_ptr<WeightSource> open_hf_directory(const Path& directory) {
  const auto single = directory / "model.safetensors";
  const auto index = directory / "model.safetensors.index.json";
  std::error_code error;
  if (std::filesystem::exists(single, error)) return open_safetensors(single);
  if (std::filesystem::exists(index, error)) {
    return std::make_unique<SafetensorsSource>(index.string(), open_shards(index));
  }
  throw base::UserError("has neither model.safetensors nor model.safetensors.index.json",
                        directory.string(), "give the directory of a Hugging Face model");
}

}  // namespace physarum::model
