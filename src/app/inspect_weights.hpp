#pragma once

#include "inspect.hpp"

namespace physarum::app {

/// Whether `path` is a file of weights by its name: .gguf or .safetensors.
[[nodiscard]] bool is_weight_file(const std::filesystem::path& path);

/// What it holds: metadata, tensors with type, shape and bytes. Verify::data also reads every
/// value: one that is not finite is damage. Throws UserError if the file is damaged or of another
/// kind.
[[nodiscard]] Inspection inspect_weights(const std::filesystem::path& path, Verify verify);

}  // namespace physarum::app
