#include "token_weights.hpp"

#include <gtest/gtest.h>

#include "training/synthetic.hpp"

namespace physarum::training {
namespace {

double sum_over_tokens(const sample::BatchPlan& plan, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i] * static_cast<double>(plan.samples[i].trained_tokens);
  }
  return sum;
}

TEST(TokenWeights, make_a_mean_over_samples_or_tokens) {
  const auto plan = test::SyntheticBatches{}.batch(1, 2, 0).plan;
  LossOptions options;
  const double untrained = [&] {
    double count = 0;
    for (const auto& one : plan.samples) count += one.trained_tokens == 0 ? 1 : 0;
    return count;
  }();
  ASSERT_GT(untrained, 0);
  EXPECT_NEAR(sum_over_tokens(plan, token_weights(plan, 0, options)), 1 - untrained / 16, 1e-12);
  options.calculate_per_token_loss = true;
  const auto weights = token_weights(plan, 0, options);
  for (const double weight : weights) EXPECT_EQ(weight, weights.front());
}

TEST(TokenWeights, do_not_depend_on_how_a_step_is_split) {
  for (const bool per_token : {false, true}) {
    LossOptions options;
    options.calculate_per_token_loss = per_token;
    const auto one = test::SyntheticBatches{}.batch(0, 1, 0).plan;
    for (const int dp_size : {2, 3, 4}) {
      const auto split = test::SyntheticBatches{}.batch(0, dp_size, 0).plan;
      EXPECT_EQ(token_weights(one, 0, options), token_weights(split, 0, options));
    }
  }
}

TEST(TokenWeights, are_0_for_samples_of_other_steps) {
  test::SyntheticBatches batches;
  batches.steps_per_rollout = 2;
  const auto plan = batches.batch(0, 1, 0).plan;
  const auto first = token_weights(plan, 0, {});
  const auto second = token_weights(plan, 1, {});
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i] == 0, second[i] != 0) << i;
  }
}

}  // namespace
}  // namespace physarum::training
