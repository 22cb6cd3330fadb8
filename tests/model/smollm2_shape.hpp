#pragma once

#include "physarum/model/config.hpp"

namespace physarum::model {

/// The shape of SmolLM2-135M: for benchmarks in which the values do not matter.
inline ModelConfig smollm2_shape() {
  ModelConfig config;
  config.model_type = "llama";
  config.hidden_size = 576;
  config.num_hidden_layers = 30;
  config.num_attention_heads = 9;
  config.num_key_value_heads = 3;
  config.head_dim = 64;
  config.intermediate_size = 1536;
  config.vocab_size = 49152;
  config.tie_word_embeddings = true;
  return config;
}

}  // namespace physarum::model
