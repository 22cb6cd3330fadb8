#include "physarum/sample/micro_batches.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "sample/builders.hpp"

namespace physarum::sample {
namespace {

std::vector<SampleSummary> summaries(std::int64_t count, std::int64_t longest,
                                     std::uint64_t seed = 5) {
  std::vector<SampleSummary> samples(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    auto& sample = samples[static_cast<std::size_t>(i)];
    sample.id = SampleId(100 + i);
    sample.prompt_tokens = 2;
    sample.response_tokens = testing::draw(seed, i, 0, 1, longest);
  }
  return samples;
}

std::int64_t tokens_of(const std::vector<SampleSummary>& samples, const MicroBatch& batch) {
  std::int64_t tokens = 0;
  for (const auto index : batch) tokens += samples[static_cast<std::size_t>(index)].total_tokens();
  return tokens;
}

/// All samples of each optimiser step exactly once, equal counts of micro-batches everywhere.
void expect_sound(const std::vector<SampleSummary>& samples,
                  const std::vector<std::vector<MicroBatches>>& plan, int dp_size) {
  const auto per_step = samples.size() / plan.size();
  for (std::size_t step = 0; step < plan.size(); ++step) {
    ASSERT_EQ(plan[step].size(), static_cast<std::size_t>(dp_size));
    std::multiset<std::int64_t> seen;
    for (const auto& batches : plan[step]) {
      EXPECT_EQ(batches.size(), plan[step].front().size());
      for (const auto& batch : batches) {
        EXPECT_TRUE(std::ranges::is_sorted(batch));
        seen.insert(batch.begin(), batch.end());
      }
    }
    ASSERT_EQ(seen.size(), per_step);
    auto expected = static_cast<std::int64_t>(step * per_step);
    for (const auto index : seen) EXPECT_EQ(index, expected++);
  }
}

TEST(MicroBatches, cover_every_sample_once_for_all_shapes) {
  for (const std::int64_t count : {1, 2, 7, 12, 64}) {
    for (const int dp_size : {1, 2, 3, 4, 8}) {
      const auto samples = summaries(count, 30);
      expect_sound(samples, plan_micro_batches(samples, dp_size, 1, {}), dp_size);
      const MicroBatchRule by_tokens{Packing::by_tokens, 0, 40};
      expect_sound(samples, plan_micro_batches(samples, dp_size, 1, by_tokens), dp_size);
    }
  }
}

TEST(MicroBatches, optimiser_steps_are_consecutive_ranges_of_ids) {
  const auto samples = summaries(24, 30);
  const auto plan = plan_micro_batches(samples, 2, 3, {Packing::by_count, 2, 0});
  ASSERT_EQ(plan.size(), 3u);
  expect_sound(samples, plan, 2);
}

TEST(MicroBatches, hold_no_more_tokens_than_allowed) {
  const auto samples = summaries(64, 30);
  const auto plan = plan_micro_batches(samples, 4, 1, {Packing::by_tokens, 0, 64});
  for (const auto& batches : plan.front()) {
    for (const auto& batch : batches)
      EXPECT_TRUE(tokens_of(samples, batch) <= 64 || batch.size() == 1);
  }
}

TEST(MicroBatches, a_sample_above_the_limit_gets_its_own) {
  auto samples = summaries(8, 10);
  samples[3].response_tokens = 500;
  const auto plan = plan_micro_batches(samples, 2, 1, {Packing::by_tokens, 0, 40});
  bool found = false;
  for (const auto& batches : plan.front())
    for (const auto& batch : batches)
      if (std::ranges::count(batch, 3) == 1) found = batch.size() == 1;
  EXPECT_TRUE(found);
}

TEST(MicroBatches, hold_no_more_samples_than_allowed) {
  const auto samples = summaries(30, 30);
  const auto plan = plan_micro_batches(samples, 2, 1, {Packing::by_count, 4, 0});
  for (const auto& batches : plan.front()) {
    EXPECT_EQ(batches.size(), 4u);
    for (const auto& batch : batches) EXPECT_LE(batch.size(), 4u);
  }
}

TEST(MicroBatches, ranks_carry_nearly_equal_tokens) {
  const auto samples = summaries(128, 200);
  const auto plan = plan_micro_batches(samples, 4, 1, {Packing::by_tokens, 0, 512});
  const auto& ranks = plan.front();
  std::vector<std::int64_t> loads;
  for (const auto& batches : ranks) {
    std::int64_t load = 0;
    for (const auto& batch : batches) load += tokens_of(samples, batch);
    loads.push_back(load);
  }
  const auto [least, most] = std::ranges::minmax(loads);
  EXPECT_LT(static_cast<double>(most - least), 0.03 * static_cast<double>(most));
}

TEST(MicroBatches, none_is_empty_if_the_samples_suffice) {
  const auto samples = summaries(64, 60);
  for (const std::int64_t limit : {1, 50, 100, 10000}) {
    const auto plan = plan_micro_batches(samples, 4, 1, {Packing::by_tokens, 0, limit});
    for (const auto& batches : plan.front())
      for (const auto& batch : batches) EXPECT_FALSE(batch.empty()) << "limit " << limit;
  }
}

TEST(MicroBatches, the_same_samples_give_the_same_plan) {
  const MicroBatchRule rule{Packing::by_tokens, 0, 64};
  EXPECT_EQ(plan_micro_batches(summaries(64, 30), 4, 2, rule),
            plan_micro_batches(summaries(64, 30), 4, 2, rule));
}

TEST(MicroBatches, refuse_unsorted_samples_and_uneven_steps) {
  auto samples = summaries(6, 5);
  EXPECT_THROW((void)plan_micro_batches(samples, 2, 4, {}), base::ContractViolation);
  std::swap(samples[0], samples[1]);
  EXPECT_THROW((void)plan_micro_batches(samples, 2, 1, {}), base::ContractViolation);
}

TEST(Batch, a_rank_finds_its_samples_and_only_those) {
  Batch batch;
  batch.dp_rank = 1;
  for (std::int64_t id = 0; id < 8; ++id)
    batch.plan.samples.push_back(summarise(testing::make_sample(id, 0, id), 0));
  batch.plan.micro_batches = plan_micro_batches(batch.plan.samples, 2, 1, {});
  const auto mine = indices_of_rank(batch.plan, 1);
  ASSERT_EQ(mine.size(), 4u);
  for (const auto index : mine) batch.samples.push_back(testing::make_sample(index, 0, index));
  EXPECT_EQ(batch.sample(mine[2]).id, SampleId(mine[2]));
  EXPECT_THROW((void)batch.sample(indices_of_rank(batch.plan, 0)[0]), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::sample
