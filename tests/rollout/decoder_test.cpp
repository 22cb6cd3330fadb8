#include "decoder.hpp"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/safetensors.hpp"
#include "physarum/model/transformer.hpp"

#include "block_pool.hpp"
#include "rollout/engine_fixture.hpp"

namespace physarum::rollout {
namespace {

/// Sequences with blocks for all their tokens.
class Sequences {
 public:
  Sequences(const model::CacheShape& shape, const model::PackedBatch& batch)
      : batch_(batch), pool_(shape.block_floats(), std::int64_t{8} << 20) {
    pool_.reserve(pool_.capacity());
    for (std::int64_t s = 0; s < batch.n_sequences(); ++s) {
      const auto length = end(s) - begin(s);
      blocks_.emplace_back();
      for (std::int64_t t = 0; t < length; t += model::cache_block_tokens) {
        blocks_.back().push_back(pool_.take());
      }
    }
  }
  [[nodiscard]] std::int64_t begin(std::int64_t s) const {
    return batch_.sequence_starts[static_cast<std::size_t>(s)];
  }
  [[nodiscard]] std::int64_t end(std::int64_t s) const { return begin(s + 1); }
  [[nodiscard]] TokenRow row(std::int64_t s, std::int64_t position) const {
    return {batch_.tokens[static_cast<std::size_t>(begin(s) + position)], position,
            blocks_[static_cast<std::size_t>(s)].data()};
  }

 private:
  const model::PackedBatch& batch_;
  BlockPool pool_;
  std::vector<std::vector<float*>> blocks_;
};

/// Logits of all tokens, all in one call.
std::vector<float> logits_at_once(const model::ModelConfig& config, const EngineWeights& weights,
                                  const model::PackedBatch& batch) {
  Decoder decoder(config, config.max_position_embeddings);
  const Sequences sequences(decoder.cache_shape(), batch);
  std::vector<TokenRow> rows;
  std::vector<std::int64_t> wanted;
  for (std::int64_t s = 0; s < batch.n_sequences(); ++s) {
    for (std::int64_t t = sequences.begin(s); t < sequences.end(s); ++t) {
      rows.push_back(sequences.row(s, t - sequences.begin(s)));
      wanted.push_back(t);
    }
  }
  decoder.forward(weights, rows, wanted);
  const float* logits = decoder.logits(weights, 0, batch.n_tokens());
  return {logits, logits + batch.n_tokens() * config.vocab_size};
}

/// Logits of all tokens, each token in a call of its own.
std::vector<float> logits_one_by_one(const model::ModelConfig& config, const EngineWeights& weights,
                                     const model::PackedBatch& batch) {
  Decoder decoder(config, config.max_position_embeddings);
  const Sequences sequences(decoder.cache_shape(), batch);
  std::vector<float> all;
  const std::vector<std::int64_t> first{0};
  for (std::int64_t s = 0; s < batch.n_sequences(); ++s) {
    for (std::int64_t t = sequences.begin(s); t < sequences.end(s); ++t) {
      const std::vector<TokenRow> rows{sequences.row(s, t - sequences.begin(s))};
      decoder.forward(weights, rows, first);
      const float* logits = decoder.logits(weights, 0, 1);
      all.insert(all.end(), logits, logits + config.vocab_size);
    }
  }
  return all;
}

class Golden : public testing::TestWithParam<const char*> {};

/// The models and results that transformers computed, see tests/model/golden_test.cpp.
TEST_P(Golden, logits_agree_with_transformers) {
  const auto directory =
      std::filesystem::path(PHYSARUM_INPUTS) / "../tests/model/data" / GetParam();
  const auto config = model::ModelConfig::from_file(directory / "config.json");
  model::ParameterStore store(config, model::Gradients::none);
  model::load_weights(directory, config, store.values());
  weights::Image image(
      weights::make_catalogue(model::tensor_specs(config), weights::TransferType::f32));
  image.assign(store.values());
  image.set_version(base::WeightVersion(0));
  EngineWeights weights(config);
  weights.load(image);

  model::SafetensorsFile golden(directory / "golden.safetensors");
  const auto read = [&](const char* name) {
    const auto* tensor = golden.find(name);
    std::vector<float> values(static_cast<std::size_t>(tensor->elements()));
    golden.read(*tensor, values);
    return values;
  };
  model::PackedBatch batch;
  for (const float token : read("tokens")) {
    batch.tokens.push_back(static_cast<base::TokenId>(token));
  }
  batch.sequence_starts.clear();
  for (const float start : read("sequence_starts")) {
    batch.sequence_starts.push_back(static_cast<std::int64_t>(start));
  }
  const auto expected = read("logits");
  const auto logits = logits_at_once(config, weights, batch);
  ASSERT_EQ(logits.size(), expected.size());
  for (std::size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 1e-4F);
  EXPECT_EQ(logits, logits_one_by_one(config, weights, batch));
}

INSTANTIATE_TEST_SUITE_P(Models, Golden, testing::Values("qwen2_tied", "llama_odd", "llama_biased"),
                         [](const auto& case_) { return std::string(case_.param); });

TEST(Decoder, has_the_bits_of_the_trainer_on_long_sequences) {
  const auto config = small_config();
  const auto image = random_image(config, 5, 0);
  model::ParameterStore store(config, model::Gradients::none);
  image.copy_to(store.values());
  EngineWeights weights(config);
  weights.load(image);
  model::PackedBatch batch;
  for (const std::int64_t length : {128L, 1L, 77L, 16L}) {
    batch.append(random_prompt(length, static_cast<std::uint64_t>(length)), 1);
  }
  model::Transformer transformer(config, store);
  const auto expected = transformer.logits(batch);
  const auto logits = logits_at_once(config, weights, batch);
  EXPECT_EQ(logits, expected);
}

}  // namespace
}  // namespace physarum::rollout
