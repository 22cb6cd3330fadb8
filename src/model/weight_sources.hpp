#pragma once

#include <filesystem>
#include <memory>

#include "physarum/model/weight_source.hpp"

namespace physarum::model {

// The kinds of open_weights().

[[nodiscard]] std::unique_ptr<WeightSource> open_hf_directory(
    const std::filesystem::path& directory);
[[nodiscard]] std::unique_ptr<WeightSource> open_safetensors(const std::filesystem::path& path);
[[nodiscard]] std::unique_ptr<WeightSource> open_gguf_weights(const std::filesystem::path& path);

}  // namespace physarum::model
