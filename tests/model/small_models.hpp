#pragma once

#include <cstdint>
#include <vector>

#include "physarum/base/philox.hpp"

#include "physarum/model/config.hpp"
#include "physarum/model/packed_batch.hpp"
#include "physarum/model/parameter_store.hpp"

namespace physarum::model {

/// The shape of the built-in model's relatives, small.
inline ModelConfig small_config() {
  ModelConfig config;
  config.hidden_size = 32;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 8;
  config.intermediate_size = 64;
  config.vocab_size = 40;
  config.tie_word_embeddings = true;
  config.query_key_value_bias = true;
  config.max_position_embeddings = 256;
  config.initializer_range = 0.2;
  return config;
}

/// Sizes that fit no vector and no tile; all biases; no tie; groups of three heads.
inline ModelConfig odd_config() {
  ModelConfig config = small_config();
  config.model_type = "llama";
  config.hidden_size = 27;
  config.num_attention_heads = 3;
  config.num_key_value_heads = 1;
  config.head_dim = 10;
  config.intermediate_size = 45;
  config.vocab_size = 33;
  config.tie_word_embeddings = false;
  config.output_bias = true;
  config.rms_norm_eps = 1e-5;
  return config;
}

/// Random everywhere: norm weights around 1 and biases too, where an error would not show at 1 and
/// 0.
inline void randomise(const ModelConfig& config, std::uint64_t seed, ParameterStore& store) {
  initialise(config, seed, store.values());
  const base::RandomStream stream(seed, base::StreamKind::test);
  for (std::size_t i = 0; i < store.layout().tensors().size(); ++i) {
    if (store.layout().tensors()[i].shape.size() > 1) continue;
    const auto values = store.values(static_cast<std::int64_t>(i));
    for (std::size_t e = 0; e < values.size(); ++e) {
      values[e] += static_cast<float>(0.2 * stream.normal(i, static_cast<std::uint32_t>(e)));
    }
  }
}

/// Random sequences of these lengths; tokens from `prompt` on are targets.
inline PackedBatch random_batch(const ModelConfig& config, const std::vector<std::int64_t>& lengths,
                                std::int64_t prompt, std::uint64_t seed = 5) {
  const base::RandomStream stream(seed, base::StreamKind::test);
  PackedBatch batch;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    std::vector<base::TokenId> tokens;
    for (std::int64_t t = 0; t < lengths[s]; ++t) {
      tokens.push_back(static_cast<base::TokenId>(stream.below(
          static_cast<std::uint64_t>(config.vocab_size), 1000 + s, static_cast<std::uint32_t>(t))));
    }
    batch.append(tokens, prompt);
  }
  return batch;
}

}  // namespace physarum::model
