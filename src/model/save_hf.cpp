#include <array>
#include <vector>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/storage/commit.hpp"

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/parameter_layout.hpp"

namespace physarum::model {

namespace {

using Path = std::filesystem::path;

constexpr std::array tokenizer_files = {"tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "generation_config.json",
                                        "chat_template.jinja"};

void copy_tokenizer(storage::FileSystem& files, const Path& from, const Path& to) {
  std::error_code error;
  if (std::filesystem::equivalent(from, to, error)) return;
  for (const char* name : tokenizer_files) {
    if (files.exists(from / name)) {
      storage::commit_text(files, to / name, files.read_file(from / name));
    }
  }
}

std::vector<TensorView> view_tensors(const ParameterLayout& layout, std::span<const float> flat) {
  std::vector<TensorView> views;
  for (const auto& place : layout.tensors()) {
    views.push_back({place.name, place.shape,
                     flat.subspan(static_cast<std::size_t>(place.offset),
                                  static_cast<std::size_t>(place.size))});
  }
  return views;
}

void make_directory(storage::FileSystem& files, const Path& directory) {
  try {
    files.make_directories(directory);
  } catch (const base::WorldError& error) {
    throw base::UserError(std::string("cannot be made (") + error.what() + ")", directory.string(),
                          "give a directory that can be written");
  }
}

}  // namespace

void save_hf(storage::FileSystem& files, const Path& directory, const ModelConfig& config,
             std::span<const float> flat, const Path& tokenizer_directory, ElementType type) {
  const ParameterLayout layout(config);
  base::expects(static_cast<std::int64_t>(flat.size()) == layout.total(),
                "the flat buffer was made for another model");
  make_directory(files, directory);
  if (!tokenizer_directory.empty()) copy_tokenizer(files, tokenizer_directory, directory);
  storage::commit_text(files, directory / "config.json", config.to_json());
  write_safetensors(files, directory / "model.safetensors", view_tensors(layout, flat), type);
}

}  // namespace physarum::model
