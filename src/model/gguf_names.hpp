#pragma once

#include <string>
#include <string_view>

namespace physarum::model {

/// Hugging Face's name for a tensor of a llama, qwen2 or qwen3 file; the name itself if it has
/// none.
[[nodiscard]] std::string hugging_face_name(std::string_view gguf_name);

/// Factors of rotary frequencies: part of the configuration, no parameter.
inline constexpr std::string_view rope_factors_name = "rope_freqs.weight";

}  // namespace physarum::model
