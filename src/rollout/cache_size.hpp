#pragma once

#include <cstdint>

#include "physarum/model/config.hpp"
#include "physarum/model/decode_kernels.hpp"

#include "sequence.hpp"

namespace physarum::rollout {

[[nodiscard]] inline model::CacheShape cache_shape_of(const model::ModelConfig& config) {
  return {.heads = config.num_attention_heads,
          .key_value_heads = config.num_key_value_heads,
          .head_dim = config.head_dim,
          .layers = config.num_hidden_layers};
}

/// What one sequence of so many tokens needs to come to its end, whatever else is there. A prompt
/// and its first answer may both hold a part of one block.
[[nodiscard]] inline std::int64_t cache_bytes_for(const model::ModelConfig& config,
                                                  std::int64_t context_tokens) {
  return (blocks_for(context_tokens) + 1) * cache_shape_of(config).block_floats() *
         static_cast<std::int64_t>(sizeof(float));
}

}  // namespace physarum::rollout
