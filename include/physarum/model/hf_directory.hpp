#pragma once

#include <filesystem>
#include <span>

#include "physarum/storage/file_system.hpp"

#include "physarum/model/config.hpp"
#include "physarum/model/safetensors.hpp"

namespace physarum::model {

/// Reads all parameters of `config` from a Hugging Face directory (model.safetensors, or
/// model.safetensors.index.json with its shards; f32, bf16, f16) into `flat`, laid out as
/// ParameterLayout(config). Tensors of other names are refused, except rotary tables and, with a
/// tied head, lm_head.weight. One rank or all ranks, no communication. Throws UserError that names
/// the file and the tensors that are missing or have another shape.
void load_weights(const std::filesystem::path& directory, const ModelConfig& config,
                  std::span<float> flat);

/// Writes a directory that transformers loads: config.json, model.safetensors and, if
/// `tokenizer_directory` is not empty, copies of its tokenizer files. One rank calls it. Creates
/// the directory; each file appears whole or not at all, model.safetensors last. Throws UserError
/// if the directory cannot be written, WorldError for other faults.
void save_hf(storage::FileSystem& files, const std::filesystem::path& directory,
             const ModelConfig& config, std::span<const float> flat,
             const std::filesystem::path& tokenizer_directory = {},
             ElementType type = ElementType::f32);

}  // namespace physarum::model
