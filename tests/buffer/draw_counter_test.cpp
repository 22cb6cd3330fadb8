#include "draw_counter.hpp"

#include <gtest/gtest.h>

#include "dynamic_filter.hpp"
#include "sample/builders.hpp"

namespace physarum::buffer {
namespace {

TEST(DrawCounter, draws_again_when_too_few_are_left) {
  DrawCounter draw(4, 6);
  EXPECT_EQ(draw.wanted(), 6);
  draw.reject();
  draw.reject();
  EXPECT_EQ(draw.wanted(), 4);
  EXPECT_TRUE(draw.next_rejection_draws());
  EXPECT_EQ(draw.draws(), 1);
  draw.reject();
  EXPECT_EQ(draw.wanted(), 9);
  EXPECT_EQ(draw.draws(), 2);
  EXPECT_FALSE(draw.next_rejection_draws());
  draw.begin_step();
  EXPECT_EQ(draw.wanted(), 6);
  EXPECT_EQ(draw.rejected(), 0);
}

TEST(DrawCounter, without_over_sampling_every_rejection_draws) {
  DrawCounter draw(4, 4);
  EXPECT_TRUE(draw.next_rejection_draws());
  draw.reject();
  EXPECT_EQ(draw.wanted(), 7);
}

std::vector<sample::SampleSummary> rewarded(const std::vector<double>& rewards) {
  std::vector<sample::SampleSummary> samples(rewards.size());
  for (std::size_t i = 0; i < rewards.size(); ++i) samples[i].reward = rewards[i];
  return samples;
}

TEST(DynamicFilter, drops_groups_whose_rewards_are_alike) {
  constexpr auto filter = DynamicFilter::check_reward_nonzero_std;
  EXPECT_EQ(reason_to_drop(filter, rewarded({0, 0, 0})), "zero_std_0");
  EXPECT_EQ(reason_to_drop(filter, rewarded({1, 1})), "zero_std_1");
  EXPECT_EQ(reason_to_drop(filter, rewarded({0.5, 0.5 + 1e-7})), "zero_std_0.5");
  EXPECT_EQ(reason_to_drop(filter, rewarded({0.3})), "zero_std_0.3");
  EXPECT_FALSE(reason_to_drop(filter, rewarded({0, 1})));
  EXPECT_FALSE(reason_to_drop(filter, rewarded({0.5, 0.5 + 1e-5})));
  EXPECT_FALSE(reason_to_drop(DynamicFilter::none, rewarded({1, 1})));
  EXPECT_FALSE(has_fallback(filter));
  EXPECT_TRUE(has_fallback(DynamicFilter::check_reward_nonzero_std_with_fallback));
}

}  // namespace
}  // namespace physarum::buffer
