#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/philox.hpp"

#include "physarum/weights/image.hpp"

#include "physarum/model/config.hpp"
#include "physarum/model/parameter_store.hpp"

#include "physarum/rollout/decode_engine.hpp"

namespace physarum::rollout {

/// The shape of the built-in model's relatives, small; answers are neither all alike nor noise.
inline model::ModelConfig small_config() {
  model::ModelConfig config;
  config.hidden_size = 32;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 8;
  config.intermediate_size = 64;
  config.vocab_size = 70;
  config.tie_word_embeddings = true;
  config.query_key_value_bias = true;
  config.max_position_embeddings = 128;
  config.initializer_range = 0.3;
  config.eos_token_ids = {69};
  return config;
}

inline weights::Image random_image(const model::ModelConfig& config, std::uint64_t seed,
                                   std::int64_t version,
                                   weights::TransferType type = weights::TransferType::bf16) {
  model::ParameterStore store(config, model::Gradients::none);
  model::initialise(config, seed, store.values());
  weights::Image image(weights::make_catalogue(model::tensor_specs(config), type));
  image.assign(store.values());
  image.set_version(base::WeightVersion(version));
  return image;
}

inline std::vector<base::TokenId> random_prompt(std::int64_t length, std::uint64_t item,
                                                std::int64_t vocab = 69) {
  const base::RandomStream stream(3, base::StreamKind::test);
  std::vector<base::TokenId> tokens;
  for (std::int64_t i = 0; i < length; ++i) {
    tokens.push_back(static_cast<base::TokenId>(
        stream.below(static_cast<std::uint64_t>(vocab), item, static_cast<std::uint32_t>(i))));
  }
  return tokens;
}

inline sample::SamplingOptions sampling_of(std::int64_t most_tokens = 40) {
  sample::SamplingOptions sampling;
  sampling.max_response_tokens = most_tokens;
  sampling.max_context_tokens = 128;
  sampling.stop_token_ids = {69};
  return sampling;
}

/// Request `index`: its own prompt, length and sample ids.
inline GenerateRequest request_of(std::int64_t index, std::int64_t n_samples,
                                  const sample::SamplingOptions& sampling = sampling_of()) {
  return {.prompt = random_prompt(5 + index * 7 % 40, static_cast<std::uint64_t>(index)),
          .first_sample = base::SampleId(100 * index),
          .n_samples = n_samples,
          .sampling = sampling};
}

using Answers = std::map<std::int64_t, Generated>;

inline void collect(DecodeEngine& engine, Answers& answers) {
  for (auto& answer : engine.step()) {
    const auto id = answer.id.value();
    answers.emplace(id, std::move(answer));
  }
}

inline Answers run_to_end(DecodeEngine& engine) {
  Answers answers;
  while (engine.unfinished() > 0) collect(engine, answers);
  return answers;
}

/// New weights, the same again, after every fifth step: what was read is read again.
inline Answers run_with_swaps(DecodeEngine& engine, const weights::Image& image) {
  Answers answers;
  for (int i = 0; engine.unfinished() > 0; ++i) {
    collect(engine, answers);
    if (i % 5 == 2) engine.set_weights(image, PauseGenerationMode::retract);
  }
  return answers;
}

inline EngineLimits small_limits() {
  return {.context_tokens = 128,
          .sequences = 64,
          .prefill_tokens = 256,
          .kv_cache_bytes = std::int64_t{16} << 20};
}

inline constexpr std::uint64_t seed = 17;

class Engine : public testing::Test {
 protected:
  DecodeEngine make_engine(const EngineLimits& limits = small_limits(),
                           std::uint64_t sampling_seed = seed) {
    DecodeEngine engine(config_, limits, sampling_seed);
    engine.set_weights(image_, PauseGenerationMode::retract);
    return engine;
  }
  /// Every request in an engine of its own.
  Answers alone(const std::vector<GenerateRequest>& requests) {
    Answers all;
    for (const auto& request : requests) {
      auto engine = make_engine();
      engine.add(request);
      all.merge(run_to_end(engine));
    }
    return all;
  }

  model::ModelConfig config_ = small_config();
  weights::Image image_ = random_image(config_, 5, 3);
};

/// Bits, not closeness.
inline void expect_same(const Answers& a, const Answers& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [id, answer] : a) {
    const auto other = b.find(id);
    ASSERT_NE(other, b.end());
    EXPECT_EQ(answer.response, other->second.response) << "sample " << id;
    EXPECT_EQ(answer.log_probs, other->second.log_probs) << "sample " << id;
    EXPECT_EQ(answer.nuclei, other->second.nuclei) << "sample " << id;
    EXPECT_EQ(answer.top_log_probs, other->second.top_log_probs) << "sample " << id;
    EXPECT_EQ(answer.ending, other->second.ending) << "sample " << id;
  }
}

inline std::vector<GenerateRequest> requests_of(std::int64_t count, std::int64_t n_samples) {
  std::vector<GenerateRequest> requests;
  for (std::int64_t i = 0; i < count; ++i) requests.push_back(request_of(i, n_samples));
  return requests;
}

}  // namespace physarum::rollout
