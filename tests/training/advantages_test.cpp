#include "advantages.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "training/golden.hpp"

namespace physarum::training {
namespace {

using sample::SampleSummary;

std::vector<SampleSummary> golden_samples(const nlohmann::json& golden) {
  std::vector<SampleSummary> samples;
  for (std::size_t i = 0; i < golden["groups"].size(); ++i) {
    auto& one = samples.emplace_back();
    one.id = base::SampleId(static_cast<std::int64_t>(i));
    one.group = base::GroupId(golden["groups"][i].get<std::int64_t>());
    one.reward = golden["rewards"][i];
    one.trained_tokens = golden["trained"][i];
  }
  return samples;
}

std::vector<SampleSummary> one_group(const std::vector<double>& rewards) {
  std::vector<SampleSummary> samples;
  for (const double reward : rewards) {
    auto& one = samples.emplace_back();
    one.id = base::SampleId(static_cast<std::int64_t>(samples.size()));
    one.group = base::GroupId(0);
    one.reward = reward;
    one.trained_tokens = 1;
  }
  return samples;
}

TEST(Advantages, agree_with_torch_for_scattered_uneven_groups) {
  const auto golden = test::read_golden("advantages.json");
  const auto samples = golden_samples(golden);
  for (const auto& result : golden["results"]) {
    LossOptions options;
    options.disable_rewards_normalization = !result["centre"];
    options.disable_grpo_std_normalization = !result["scale"];
    options.normalize_advantages = result["whiten"];
    const auto advantages = estimate_advantages(samples, options);
    for (std::size_t i = 0; i < advantages.size(); ++i) {
      EXPECT_NEAR(advantages[i], result["advantages"][i].get<double>(), 1e-9)
          << result["centre"] << result["scale"] << result["whiten"] << " sample " << i;
    }
  }
}

TEST(Advantages, depend_on_group_ids_and_not_on_positions) {
  const auto samples = golden_samples(test::read_golden("advantages.json"));
  const auto expected = estimate_advantages(samples, {});
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::reverse(order);
  std::vector<SampleSummary> moved;
  for (const std::size_t i : order) moved.push_back(samples[i]);
  const auto advantages = estimate_advantages(moved, {});
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(advantages[i], expected[order[i]]);
}

TEST(Advantages, of_a_lone_sample_are_0) {
  EXPECT_EQ(estimate_advantages(one_group({0.7}), {}), std::vector<double>{0});
}

TEST(Advantages, of_equal_rewards_are_exactly_0) {
  EXPECT_EQ(estimate_advantages(one_group({0.1, 0.1, 0.1}), {}), std::vector<double>(3, 0.0));
}

TEST(Advantages, count_removed_samples_in_their_group) {
  auto samples = one_group({0, 1, 1});
  samples[0].removed = true;
  samples[0].trained_tokens = 0;
  LossOptions options;
  options.disable_grpo_std_normalization = true;
  const auto advantages = estimate_advantages(samples, options);
  EXPECT_NEAR(advantages[1], 1.0 / 3, 1e-15);
}

TEST(Advantages, whitened_have_mean_0_and_variance_1_over_tokens) {
  auto samples = one_group({3, 1, 4, 1, 5});
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].trained_tokens = static_cast<std::int64_t>(i);
  }
  LossOptions options;
  options.disable_rewards_normalization = true;
  options.normalize_advantages = true;
  const auto advantages = estimate_advantages(samples, options);
  double mean = 0;
  double squares = 0;
  for (std::size_t i = 0; i < advantages.size(); ++i) {
    mean += static_cast<double>(i) * advantages[i] / 10;
    squares += static_cast<double>(i) * advantages[i] * advantages[i] / 9;
  }
  EXPECT_NEAR(mean, 0, 1e-12);
  EXPECT_NEAR(squares, 1, 1e-6);
}

}  // namespace
}  // namespace physarum::training
