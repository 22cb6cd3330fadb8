#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "physarum/model/gguf.hpp"

namespace physarum::model {

/// general.architecture. Throws UserError if it is missing or not llama, qwen2 or qwen3.
[[nodiscard]] const std::string& gguf_architecture(const GgufHeader& header,
                                                   std::string_view where);
[[nodiscard]] bool is_llama(const GgufHeader& header, std::string_view where);

struct AttentionHeads {
  std::int64_t query = 0;
  std::int64_t key_value = 0;
};
/// Throws UserError if a number is missing, out of range, or differs from layer to layer.
[[nodiscard]] AttentionHeads attention_heads(const GgufHeader& header, std::string_view where);

/// The positive count of <architecture>.<name>, one for all layers, at most 2^31. Missing: throws
/// UserError if `otherwise` is 0, else gives it.
[[nodiscard]] std::int64_t gguf_count(const GgufHeader& header, std::string_view name,
                                      std::string_view where, std::int64_t otherwise = 0);

}  // namespace physarum::model
