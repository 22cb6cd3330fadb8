#include "adamw.hpp"

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "gradient_norm.hpp"
#include "training/golden.hpp"

namespace physarum::training {
namespace {

using nlohmann::json;

OptimiserOptions adam_options(const json& named) {
  OptimiserOptions options;
  options.lr = named["lr"];
  options.weight_decay = named["weight_decay"];
  options.adam_beta1 = named["adam_beta1"];
  options.adam_beta2 = named["adam_beta2"];
  options.adam_eps = named["adam_eps"];
  options.clip_grad = named["clip_grad"];
  return options;
}

AdamW make_adam(const json& golden) {
  std::vector<UpdateRange> ranges;
  for (const json& range : golden["ranges"]) {
    ranges.push_back({range[0], range[1], range[2] ? Decay::yes : Decay::no});
  }
  return {adam_options(golden["options"]), static_cast<std::int64_t>(golden["start"].size()),
          ranges};
}

TEST(AdamW, agrees_with_torch_over_clipped_and_decayed_steps) {
  const json golden = test::read_golden("adamw.json");
  AdamW adam = make_adam(golden);
  auto weights = test::floats(golden["start"]);
  for (const json& step : golden["steps"]) {
    const auto gradient = test::floats(step["gradient"]);
    const double norm = global_norm(gradient);
    EXPECT_NEAR(norm, step["norm"].get<double>(), 1e-6 * norm);
    adam.update(weights, gradient, clip_scale(norm, golden["options"]["clip_grad"]), step["lr"]);
    test::expect_near(weights, step["weights"], 1e-6);
  }
  EXPECT_EQ(adam.steps(), 8);
}

TEST(AdamW, leaves_gaps_between_tensors_alone) {
  AdamW adam({}, 4, {{0, 1, Decay::yes}, {3, 4, Decay::no}});
  std::vector<float> weights{1, 7, 8, 1};
  adam.update(weights, std::vector<float>{1, 1, 1, 1}, 1, 0.1);
  EXPECT_EQ(weights[1], 7);
  EXPECT_EQ(weights[2], 8);
  EXPECT_LT(weights[0], weights[3]);  // decayed too
}

TEST(AdamW, says_of_each_piece_that_it_is_done) {
  constexpr std::int64_t piece = AdamW::piece_elements;
  AdamW adam({}, 3 * piece, {{10, piece + 5, Decay::yes}, {piece + 7, 3 * piece, Decay::no}});
  std::vector<float> weights(3 * piece, 1.0F);
  const std::vector<float> gradient(3 * piece, 1.0F);
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  adam.update(weights, gradient, 1, 0.1, [&](std::int64_t begin, std::int64_t end) {
    pieces.emplace_back(begin, end);
    EXPECT_NE(weights[static_cast<std::size_t>(end - 1)], 1.0F);
    EXPECT_TRUE(end == 3 * piece || weights[static_cast<std::size_t>(end)] == 1.0F);
  });
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {
      {10, piece}, {piece, piece + 5}, {piece + 7, 2 * piece}, {2 * piece, 3 * piece}};
  EXPECT_EQ(pieces, expected);
}

TEST(AdamW, refuses_ranges_outside_the_buffer) {
  EXPECT_THROW(AdamW({}, 4, {{2, 5, Decay::no}}), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::training
