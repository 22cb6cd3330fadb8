#include "engine_weights.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "physarum/weights/convert.hpp"

#include "physarum/model/parameter_layout.hpp"

#include "rollout/engine_fixture.hpp"

namespace physarum::rollout {
namespace {

/// The head has more rows than are on their way at a time, and its last panel is not full.
TEST(EngineWeights, matrices_that_come_in_pieces_are_packed_as_a_whole) {
  auto config = small_config();
  config.vocab_size = 5003;
  for (const auto type : {weights::TransferType::f32, weights::TransferType::bf16}) {
    const auto image = random_image(config, 5, 0, type);
    EngineWeights weights(config);
    weights.load(image);
    const auto offsets = model::model_offsets(config, model::ParameterLayout(config));
    std::vector<float> values(static_cast<std::size_t>(image.catalogue().total_elements()));
    weights::from_transfer(image.bytes(), type, values);
    const auto& head = weights.head();
    model::PackedMatrix whole(config.vocab_size, config.hidden_size, head.storage());
    whole.pack(0, config.vocab_size, values.data() + offsets.head, config.hidden_size);
    const auto count = (config.vocab_size + 15) / 16 * 16 * config.hidden_size;
    EXPECT_TRUE(type == weights::TransferType::f32
                    ? std::equal(whole.floats(), whole.floats() + count, head.floats())
                    : std::equal(whole.halves(), whole.halves() + count, head.halves()));
  }
}

model::ModelConfig with_everything() {
  auto config = small_config();
  config.tie_word_embeddings = false;
  config.query_key_norm = true;
  config.output_bias = true;
  config.feed_forward_bias = true;
  return config;
}

model::ModelConfig with_experts() {
  auto config = small_config();
  config.model_type = "qwen3_moe";
  config.experts.count = 4;
  config.experts.per_token = 2;
  config.experts.intermediate_size = 16;
  config.experts.layers = {false, true};
  return config;
}

TEST(EngineWeights, difference_names_every_tensor_whose_bits_are_others) {
  for (const auto& config : {with_everything(), with_experts()}) {
    for (const auto type : {weights::TransferType::f32, weights::TransferType::bf16}) {
      auto image = random_image(config, 5, 0, type);
      EngineWeights weights(config);
      weights.load(image);
      EXPECT_FALSE(weights.difference(image));
      for (std::int64_t i = 0; i < image.catalogue().size(); ++i) {
        const auto tensor = image.tensor(i);
        const auto element = static_cast<std::size_t>(i * 37 + 5) % (tensor.size() / 4);
        const auto at = element * static_cast<std::size_t>(weights::element_bytes(type));
        tensor[at] ^= std::byte{1};
        EXPECT_EQ(weights.difference(image),
                  image.catalogue().spec(i).name + ", element " + std::to_string(element));
        tensor[at] ^= std::byte{1};
      }
      EXPECT_FALSE(weights.difference(image));
    }
  }
}

/// Another version: one element in `sparsity` of every tensor differs.
weights::Image changed(const weights::Image& image, std::int64_t version, std::size_t sparsity) {
  weights::Image next(image.catalogue_ptr());
  next.copy_from(image);
  const auto width = static_cast<std::size_t>(weights::element_bytes(image.catalogue().type()));
  for (std::int64_t i = 0; i < image.catalogue().size(); ++i) {
    const auto tensor = next.tensor(i);
    for (std::size_t at = 0; at < tensor.size() / width; at += sparsity) {
      tensor[at * width] ^= std::byte{1};
    }
  }
  next.set_version(base::WeightVersion(version));
  return next;
}

TEST(EngineWeights, what_was_prepared_in_slices_is_loaded_whole) {
  for (const auto& config : {with_everything(), with_experts()}) {
    for (const auto type : {weights::TransferType::f32, weights::TransferType::bf16}) {
      for (const std::size_t sparsity : {1UL, 10UL, 300UL}) {
        const auto image = random_image(config, 5, 0, type);
        const auto next = changed(image, 1, sparsity);
        EngineWeights weights(config);
        EXPECT_TRUE(weights.prepare(image, 1));  // nothing is in use yet
        weights.load(image);
        int slices = 1;
        while (!weights.prepare(next, 1000)) ++slices;
        EXPECT_GT(slices, sparsity == 300 ? 10 : 0);
        EXPECT_FALSE(weights.difference(image)) << "what is in use does not change before";
        weights.load(next);
        EXPECT_EQ(weights.version(), base::WeightVersion(1));
        EXPECT_EQ(weights.difference(next), std::nullopt);
      }
    }
  }
}

TEST(EngineWeights, what_was_prepared_for_another_version_is_not_used) {
  const auto config = with_everything();
  const auto image = random_image(config, 5, 0);
  const auto first = changed(image, 1, 300);
  const auto second = changed(image, 2, 70);
  EngineWeights weights(config);
  weights.load(image);
  while (!weights.prepare(first, 1000)) continue;
  weights.load(second);
  EXPECT_EQ(weights.difference(second), std::nullopt);
  EXPECT_FALSE(weights.prepare(first, 1000));
  weights.load(first);  // half prepared
  EXPECT_EQ(weights.difference(first), std::nullopt);
}

}  // namespace
}  // namespace physarum::rollout
