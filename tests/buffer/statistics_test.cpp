#include "statistics.hpp"

#include <gtest/gtest.h>

namespace physarum::buffer {
namespace {

std::vector<sample::SampleSummary> batch(const std::vector<std::vector<double>>& rewards) {
  std::vector<sample::SampleSummary> samples;
  for (std::size_t group = 0; group < rewards.size(); ++group) {
    for (const double reward : rewards[group]) {
      sample::SampleSummary summary;
      summary.id = sample::SampleId(static_cast<std::int64_t>(samples.size()));
      summary.group = sample::GroupId(static_cast<std::int64_t>(group));
      summary.reward = reward;
      summary.response_tokens = static_cast<std::int64_t>(samples.size()) + 1;
      samples.push_back(summary);
    }
  }
  return samples;
}

TEST(Statistics, describe_a_batch_under_slimes_names) {
  auto samples = batch({{1, 1}, {0, 0}, {0, 1}, {0.5, 0.5}});
  samples[7].status = sample::SampleStatus::truncated;
  const auto metrics = rollout_metrics(samples);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/raw_reward"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/truncated_ratio"), 0.125);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/response_len/mean"), 4.5);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/response_len/median"), 4.5);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/response_len/max"), 8);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/response_len/min"), 1);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/zero_std/count_1"), 1);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/zero_std/count_0"), 1);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/zero_std/count_0.5"), 1);
}

TEST(Statistics, groups_of_one_have_no_spread_to_count) {
  const auto metrics = rollout_metrics(batch({{1}, {0}}));
  EXPECT_EQ(metrics.at("rollout/zero_std/count_1"), 0);
  EXPECT_EQ(metrics.at("rollout/zero_std/count_0"), 0);
}

TEST(Statistics, staleness_leaves_out_samples_without_version) {
  auto samples = batch({{1, 1}, {0, 0}});
  samples[0].oldest = sample::WeightVersion(4);
  samples[1].oldest = sample::WeightVersion(2);
  const auto metrics = staleness_metrics(samples, 5);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/fully_async/avg_staleness"), 2);
  EXPECT_DOUBLE_EQ(metrics.at("rollout/fully_async/max_staleness"), 3);
}

TEST(Statistics, pass_at_k_is_the_share_of_draws_with_a_right_one) {
  EXPECT_DOUBLE_EQ(pass_at_k(4, 0, 2), 0);
  EXPECT_DOUBLE_EQ(pass_at_k(4, 4, 1), 1);
  EXPECT_DOUBLE_EQ(pass_at_k(4, 1, 1), 0.25);
  EXPECT_DOUBLE_EQ(pass_at_k(4, 1, 2), 0.5);        // 3 of 6 pairs
  EXPECT_NEAR(pass_at_k(4, 2, 2), 5.0 / 6, 1e-15);  // all pairs but one
  EXPECT_DOUBLE_EQ(pass_at_k(4, 1, 4), 1);
}

/// Against the definition, by counting the draws.
TEST(Statistics, pass_at_k_is_the_ratio_of_binomials) {
  const auto draws = [](std::int64_t from, std::int64_t k) {
    double count = 1;  // exact: integers below 2^53
    for (std::int64_t i = 0; i < k; ++i)
      count = count * static_cast<double>(from - i) / static_cast<double>(i + 1);
    return from < k ? 0 : count;
  };
  for (std::int64_t n = 1; n <= 16; ++n) {
    for (std::int64_t right = 0; right <= n; ++right) {
      for (std::int64_t k = 1; k <= n; ++k)
        EXPECT_NEAR(pass_at_k(n, right, k), 1 - draws(n - right, k) / draws(n, k), 1e-12)
            << n << " " << right << " " << k;
    }
  }
  // Where the binomials themselves would overflow.
  EXPECT_NEAR(pass_at_k(4096, 2, 2048), 1 - 2048.0 * 2047 / (4096.0 * 4095), 1e-12);
}

TEST(Statistics, pass_rates_are_means_over_prompts_for_powers_of_two) {
  // Six samples a prompt: one right, none right.
  const auto rates = pass_rates("p@", batch({{1, 0, 0, 0, 0, 0}, {0, 0, 0, 0.5, 0, 0}}));
  ASSERT_EQ(rates.size(), 3U);
  EXPECT_DOUBLE_EQ(rates.at("p@1"), 1.0 / 12);
  EXPECT_DOUBLE_EQ(rates.at("p@2"), 1.0 / 6);
  EXPECT_DOUBLE_EQ(rates.at("p@4"), 1.0 / 3);
  EXPECT_TRUE(pass_rates("p@", batch({{1}, {0}})).empty());
}

TEST(Statistics, nothing_is_divided_by_zero) {
  EXPECT_EQ(rollout_metrics({}).at("rollout/raw_reward"), 0);
  EXPECT_EQ(evaluation_metrics("x", {}).at("eval/x"), 0);
  EXPECT_EQ(staleness_metrics({}, 3).at("rollout/fully_async/avg_staleness"), 0);
}

}  // namespace
}  // namespace physarum::buffer
