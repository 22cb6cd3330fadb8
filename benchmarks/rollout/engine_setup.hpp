#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "physarum/rollout/decode_engine.hpp"

namespace physarum::rollout {

/// What the command line asks for; one value of each, whatever the mode uses.
struct FigureOptions {
  std::string model;  ///< a Hugging Face directory
  std::string mode;
  std::string storage = "f32";  ///< of the weights: f32 or bf16
  std::int64_t threads = 1;
  std::int64_t context = 128;          ///< tokens of a prompt
  std::int64_t tokens = 128;           ///< new tokens: of an answer, or of each number of sequences
  std::int64_t prompts = 32;           ///< in mode batch
  std::vector<std::int64_t> parallel;  ///< numbers of sequences, falling
  std::int64_t distinct = 64;          ///< sequences with a prompt of their own; later ones share
  std::int64_t repeats = 3;
  std::int64_t requests = 20'000;  ///< in mode soak
  std::int64_t kv_cache_bytes = 1 << 30;
  double temperature = 0;
};

/// Throws UserError.
[[nodiscard]] FigureOptions read_options(int count, char** arguments);

/// A model and an engine that has its weights; what loading needed is given back.
struct LoadedEngine {
  model::ModelConfig config;
  DecodeEngine engine;
};
[[nodiscard]] LoadedEngine load_engine(const FigureOptions& options, EngineLimits limits);
/// What it was loaded with.
[[nodiscard]] weights::Image load_engine_image(const FigureOptions& options,
                                               const model::ModelConfig& config);

/// Token ids that are the same for every engine in the comparison (benchmarks/rollout/prompts.py).
[[nodiscard]] std::vector<base::TokenId> make_prompt(std::int64_t index, std::int64_t tokens,
                                                     std::int64_t vocab_size);

/// Matrix products with weights, in multiplications and additions.
struct ModelWork {
  double layers;        ///< one token through all layers
  double last_outputs;  ///< of these, what the last layer needs for tokens with logits alone
  double head;          ///< one token's logits
  double attended;      ///< one token's attention to one token, all layers
  double matrix_bytes;  ///< of the weights that every step reads, fp32
};
[[nodiscard]] ModelWork work_of(const model::ModelConfig& config);

}  // namespace physarum::rollout
