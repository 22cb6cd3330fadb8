#include "physarum/buffer/server.hpp"

#include <set>

#include <gtest/gtest.h>

#include "buffer/circle.hpp"

namespace physarum::buffer {
namespace {

using testing::Circle;
using testing::CircleOptions;
using testing::without_leases;
namespace st = sample::testing;

CircleOptions small(Mode mode = Mode::sync) {
  auto options = testing::small_circle(mode);
  options.buffer.num_rollout = options.num_rollout;
  return options;
}

std::vector<std::vector<sample::Sample>> batches_of(Circle& circle) {
  std::vector<std::vector<sample::Sample>> all;
  for (std::int64_t step = 0; step < circle.options.num_rollout; ++step)
    all.push_back(without_leases(circle.batch(step)));
  return all;
}

TEST(Server, sync_trains_on_exactly_the_groups_of_each_step_with_its_version) {
  Circle circle(small());
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  for (std::int64_t step = 0; step < 4; ++step) {
    const auto samples = circle.batch(step);
    ASSERT_EQ(samples.size(), 8u);
    for (std::int64_t i = 0; i < 8; ++i) {
      const auto& sample = samples[static_cast<std::size_t>(i)];
      EXPECT_EQ(sample.id.value(), step * 8 + i);
      EXPECT_EQ(sample.oldest_version(), WeightVersion(step));
      EXPECT_EQ(sample.newest_version(), WeightVersion(step));
      EXPECT_EQ(sample.prompt.value(), (step * 4 + i / 2) % 7);
    }
  }
  EXPECT_EQ(circle.counters().malformed_messages, 0);
  EXPECT_EQ(circle.counters().repeated_groups, 0);
}

TEST(Server, sync_batches_do_not_depend_on_ranks_order_or_chance) {
  Circle reference(small());
  ASSERT_TRUE(reference.run());
  const auto expected = batches_of(reference);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    auto options = small();
    options.seed = seed;
    options.buffers = 1 + static_cast<int>(seed % 3);
    options.engines = 1 + static_cast<int>(seed % 4);
    options.trainers = 1 + static_cast<int>(seed % 2);
    options.engine_samples = 2 + static_cast<std::int64_t>(seed);
    Circle circle(options);
    ASSERT_TRUE(circle.run()) << circle.head().describe();
    EXPECT_EQ(batches_of(circle), expected) << "seed " << seed;
  }
}

TEST(Server, with_staleness_0_every_mode_gives_the_same_batches) {
  Circle reference(small());
  ASSERT_TRUE(reference.run());
  for (const auto mode : {Mode::one_step_async, Mode::async, Mode::colocate}) {
    auto options = small(mode);
    options.engines = 2;
    if (mode != Mode::colocate) options.buffer.max_weight_staleness = 0;
    Circle circle(options);
    ASSERT_TRUE(circle.run()) << circle.head().describe();
    EXPECT_EQ(batches_of(circle), batches_of(reference));
  }
}

TEST(Server, one_step_async_uses_exactly_the_version_before) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto options = small(Mode::one_step_async);
    options.engines = 3;
    options.seed = seed;
    Circle circle(options);
    ASSERT_TRUE(circle.run()) << circle.head().describe();
    for (std::int64_t step = 0; step < 4; ++step) {
      const auto samples = circle.batch(step);
      EXPECT_EQ(samples.front().id.value(), step * 8);
      for (const auto& sample : samples) {
        const WeightVersion before(std::max<std::int64_t>(0, step - 1));
        EXPECT_EQ(sample.oldest_version(), before);
        EXPECT_EQ(sample.newest_version(), before);
      }
    }
  }
}

TEST(Server, async_never_trains_on_what_is_too_old) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    auto options = small(Mode::async);
    options.buffer.max_weight_staleness = 1 + static_cast<std::int64_t>(seed % 3);
    options.engines = 3;
    options.buffers = 2;
    options.trainers = 2;
    options.seed = seed;
    options.num_rollout = 12;
    Circle circle(options);
    // One engine is much slower than the training.
    circle.engines[0]->delay = [](const auto&) { return 60; };
    ASSERT_TRUE(circle.run()) << circle.head().describe();
    std::set<base::SampleId> seen;
    for (std::int64_t step = 0; step < 12; ++step) {
      const auto samples = circle.batch(step);
      EXPECT_EQ(samples.size(), 8u);
      for (const auto& sample : samples) {
        EXPECT_LE(step - sample.oldest_version().value(), *options.buffer.max_weight_staleness);
        EXPECT_TRUE(seen.insert(sample.id).second) << "sample trained twice";
      }
    }
    EXPECT_EQ(seen.size(), 12u * 8u);
  }
}

TEST(Server, groups_that_are_too_old_are_generated_again_under_the_same_ids) {
  auto options = small(Mode::async);
  options.engines = 2;
  options.num_rollout = 10;
  Circle circle(options);
  circle.engines[0]->delay = [](const auto& lease) { return lease.history.empty() ? 80 : 0; };
  circle.engines[1]->delay = [](const auto&) { return 0; };
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_GT(circle.counters().stale_groups, 0);
  std::size_t repeated = 0;
  for (std::int64_t step = 0; step < 10; ++step)
    for (const auto& sample : circle.batch(step)) repeated += sample.lease_history.size() > 1;
  EXPECT_GT(repeated, 0u);
}

TEST(Server, supervised_runs_need_no_version_and_keep_the_order) {
  auto options = small();
  options.purpose = sample::Purpose::supervised;
  options.engines = 2;
  Circle circle(options);
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  for (std::int64_t step = 0; step < 4; ++step) {
    const auto samples = circle.batch(step);
    EXPECT_EQ(samples.front().id.value(), step * 8);
    EXPECT_TRUE(samples.front().log_probs.empty());
  }
}

TEST(Server, a_resumed_run_goes_on_with_the_groups_of_its_first_step) {
  Circle whole(small());
  ASSERT_TRUE(whole.run());
  auto options = small();
  options.first_step = 2;
  options.engines = 2;
  Circle rest(options);
  ASSERT_TRUE(rest.run()) << rest.head().describe();
  for (std::int64_t step = 2; step < 4; ++step)
    EXPECT_EQ(without_leases(rest.batch(step)), without_leases(whole.batch(step)));
}

TEST(Server, without_trainers_the_head_takes_every_batch_itself) {
  auto options = small();
  options.trainers = 0;
  options.engines = 2;
  Circle circle(options);
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.taken_metrics.size(), 4u);
}

TEST(Server, reports_metrics_of_batches_and_steps) {
  Circle circle(small());
  ASSERT_TRUE(circle.run());
  ASSERT_EQ(circle.taken_metrics.size(), 4u);
  const auto& metrics = circle.taken_metrics.at(2);
  for (const char* name :
       {"rollout/raw_reward", "rollout/response_len/mean", "rollout/truncated_ratio",
        "rollout/zero_std/count_0", "perf/rollout_time", "rollout/fully_async/max_staleness"})
    EXPECT_TRUE(metrics.contains(name)) << name;
  EXPECT_EQ(metrics.at("rollout/fully_async/max_staleness"), 0);
  EXPECT_EQ(circle.step_metrics.at(3).at("train/loss"), 4);
}

TEST(Server, work_is_shared_evenly_between_engines) {
  auto options = small();
  options.engines = 2;
  options.engine_samples = 100;
  Circle circle(options);
  ASSERT_TRUE(circle.run());
  EXPECT_LE(circle.engines[0]->most_in_flight, 2);
  EXPECT_LE(circle.engines[1]->most_in_flight, 2);
}

TEST(Server, a_full_buffer_lends_nothing_more) {
  auto options = small(Mode::async);
  options.buffer.max_weight_staleness = 50;
  options.buffer.async_data_buffer_capacity_factor = 1.5;  // 6 groups
  options.engines = 2;
  options.engine_samples = 100;
  options.num_rollout = 20;
  Circle circle(options);
  circle.trainers->pause_before_step = 1;
  EXPECT_FALSE(circle.run(500));
  std::size_t lent = 0;
  for (const auto& engine : circle.engines) lent += engine->leases.size();
  EXPECT_EQ(lent, 4u + 6u);  // the batch that was taken, and what fits
}

TEST(Server, the_last_batch_comes_although_an_engine_starts_late) {
  auto options = small();
  options.engines = 2;
  Circle circle(options);
  circle.engines[1]->dead = true;
  for (int i = 0; i < 100; ++i) circle.turn();
  EXPECT_GE(circle.trainers->batches.size(), 2u);
  circle.engines[1]->dead = false;
  EXPECT_TRUE(circle.run()) << circle.head().describe();
}

}  // namespace
}  // namespace physarum::buffer
