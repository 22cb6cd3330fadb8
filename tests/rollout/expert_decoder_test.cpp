#include "expert_decoder.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/philox.hpp"

#include "model/family_golden.hpp"
#include "rollout/sequence_blocks.hpp"

namespace physarum::rollout {
namespace {

std::vector<float> random_rows(std::int64_t rows, std::int64_t width) {
  const base::RandomStream stream(8, base::StreamKind::test);
  std::vector<float> values(static_cast<std::size_t>(rows * width));
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(stream.normal(1, i));
  }
  return values;
}

/// More rows than an expert takes together: all rows have one expert, and the pieces must fit.
TEST(ExpertDecoder, adds_the_same_to_a_row_in_every_batch) {
  model::FamilyGolden golden("mixtral");
  const auto& config = golden.config();
  EngineWeights weights(config);
  weights.load(image_of(config, golden.store(model::Gradients::none)));
  constexpr std::int64_t rows = 250;
  auto normed = random_rows(rows, config.hidden_size);
  // One direction in most rows, so that one expert gets more than it takes at a time.
  for (std::int64_t i = 0; i < 200 * config.hidden_size; ++i) {
    normed[static_cast<std::size_t>(i)] =
        normed[static_cast<std::size_t>(200 * config.hidden_size + i % config.hidden_size)];
  }
  base::ThreadTeam team(2);
  ExpertDecoder decoder(config);
  std::vector<float> together(normed.size(), 0.5F);
  decoder.add(team, weights.layer(0), rows, normed.data(), together.data());
  std::vector<float> alone(normed.size(), 0.5F);
  for (std::int64_t row = 0; row < rows; ++row) {
    decoder.add(team, weights.layer(0), 1, normed.data() + row * config.hidden_size,
                alone.data() + row * config.hidden_size);
  }
  EXPECT_EQ(together, alone);
  EXPECT_NE(together, std::vector<float>(normed.size(), 0.5F));
}

}  // namespace
}  // namespace physarum::rollout
