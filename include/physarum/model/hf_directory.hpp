#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "physarum/storage/file_system.hpp"

#include "physarum/model/config.hpp"
#include "physarum/model/safetensors.hpp"
#include "physarum/model/weight_source.hpp"

namespace physarum::model {

/// The configuration of a Hugging Face directory: config.json, and from generation_config.json, if
/// there is one, the tokens that end a text (eos_token_id), which count there as they do for
/// transformers' generate(). One rank or all ranks, no communication. Throws UserError that names
/// the file and the field.
[[nodiscard]] ModelConfig read_hf_config(const std::filesystem::path& directory);

/// How weights are written.
struct ExportOptions {
  ElementType type = ElementType::f32;
  /// A file of weights has at most so many bytes of data, as long as it holds more than one tensor.
  std::int64_t max_shard_bytes = 5'000'000'000;
};

/// Names and texts of small files that are written beside the weights.
using SmallFiles = std::map<std::string, std::string>;

/// The tokenizer, template and generation files of a Hugging Face directory, as far as it has them.
[[nodiscard]] SmallFiles read_tokenizer_files(storage::FileSystem& files,
                                              const std::filesystem::path& directory);

/// Writes a directory that transformers loads: config.json (with the written element type),
/// `small` files, and the weights: model.safetensors, or shards model-00001-of-0000N.safetensors
/// and model.safetensors.index.json. One rank calls it. Creates the directory; each file appears
/// whole or not at all, the one by which the weights are found last. Reads the weights piece by
/// piece: some megabytes of memory. Throws UserError if the directory cannot be written or
/// check_weights() finds fault, WorldError for other faults.
void save_hf(storage::FileSystem& files, const std::filesystem::path& directory,
             const ModelConfig& config, const WeightSource& weights, const SmallFiles& small,
             const ExportOptions& options);

/// The same for a flat buffer laid out as ParameterLayout(config), and copies of the tokenizer
/// files of `tokenizer_directory` if it is not empty.
void save_hf(storage::FileSystem& files, const std::filesystem::path& directory,
             const ModelConfig& config, std::span<const float> flat,
             const std::filesystem::path& tokenizer_directory = {},
             const ExportOptions& options = {});

}  // namespace physarum::model
