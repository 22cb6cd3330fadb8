#include <set>

#include <gtest/gtest.h>

#include "buffer/circle.hpp"

namespace physarum::buffer {
namespace {

using testing::Circle;
using testing::CircleOptions;
using testing::without_leases;

CircleOptions with_evaluation(Mode mode = Mode::sync) {
  auto options = testing::small_circle(mode);
  options.buffer.n_samples_per_eval_prompt = 2;
  options.buffer.eval_interval = 2;
  options.evaluation_prompts = {5, 3};
  options.engines = 2;
  return options;
}

std::set<std::int64_t> evaluated(const Circle& circle) {
  std::set<std::int64_t> versions;
  for (const auto& [version, metrics] : circle.evaluation_metrics) versions.insert(version);
  return versions;
}

TEST(ServerEvaluation, comes_before_training_and_at_every_interval) {
  Circle circle(with_evaluation());
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(evaluated(circle), (std::set<std::int64_t>{0, 2, 4}));
  const auto& metrics = circle.evaluation_metrics.at(2);
  for (const char* name :
       {"eval/set0", "eval/set1", "eval/set0-pass@2", "eval/set1-truncated_ratio"})
    EXPECT_TRUE(metrics.contains(name)) << name;
}

TEST(ServerEvaluation, may_be_skipped_before_training) {
  auto options = with_evaluation();
  options.buffer.skip_eval_before_train = true;
  Circle circle(options);
  ASSERT_TRUE(circle.run());
  EXPECT_EQ(evaluated(circle), (std::set<std::int64_t>{2, 4}));
}

TEST(ServerEvaluation, is_not_repeated_for_the_version_of_a_resumed_run) {
  auto options = with_evaluation();
  options.first_step = 2;
  Circle circle(options);
  ASSERT_TRUE(circle.run());
  EXPECT_EQ(evaluated(circle), (std::set<std::int64_t>{4}));
}

TEST(ServerEvaluation, is_answered_by_exactly_its_version_in_every_mode) {
  for (const auto mode : {Mode::sync, Mode::one_step_async, Mode::async}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      auto options = with_evaluation(mode);
      options.seed = seed;
      options.engines = 3;
      Circle circle(options);
      std::int64_t groups = 0;
      for (auto& engine : circle.engines) {
        engine->before_hand_in = [&](const sample::SampleGroup& group) {
          if (group.purpose != sample::Purpose::evaluate) return true;
          ++groups;
          const auto due = (group.id.value() - (std::int64_t{1} << 62)) / 8;
          EXPECT_EQ(group.oldest_version(), base::WeightVersion(due));
          return true;
        };
      }
      ASSERT_TRUE(circle.run()) << circle.head().describe();
      EXPECT_EQ(groups, 3 * 8);
    }
  }
}

TEST(ServerEvaluation, does_not_change_what_is_trained) {
  Circle circle(with_evaluation());
  ASSERT_TRUE(circle.run());
  auto options = with_evaluation();
  options.evaluation_prompts.clear();
  Circle plain(options);
  ASSERT_TRUE(plain.run());
  for (std::int64_t step = 0; step < 4; ++step)
    EXPECT_EQ(without_leases(circle.batch(step)), without_leases(plain.batch(step)));
}

TEST(ServerEvaluation, gives_the_same_figures_whoever_answers) {
  Circle reference(with_evaluation());
  ASSERT_TRUE(reference.run());
  auto options = with_evaluation();
  options.engines = 3;
  options.buffers = 2;
  options.seed = 9;
  Circle circle(options);
  ASSERT_TRUE(circle.run());
  EXPECT_EQ(circle.evaluation_metrics, reference.evaluation_metrics);
}

TEST(ServerEvaluation, alone_needs_no_steps_and_no_trainer) {
  for (const int trainers : {0, 1}) {
    auto options = with_evaluation();
    options.trainers = trainers;
    options.num_rollout = 0;
    options.buffer.eval_interval.reset();
    Circle circle(options);
    ASSERT_TRUE(circle.run()) << circle.head().describe();
    EXPECT_EQ(evaluated(circle), (std::set<std::int64_t>{0}));
  }
}

TEST(ServerEvaluation, survives_expired_and_aborted_leases) {
  auto options = with_evaluation();
  options.buffer.lease_deadline_s = 1;
  Circle circle(options);
  int count = 0;
  circle.engines[0]->before_hand_in = [&](sample::SampleGroup& group) {
    ++count;
    if (count == 3) group.samples[0].status = sample::SampleStatus::aborted;
    return count != 2;
  };
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().expired_leases, 1);
  EXPECT_EQ(circle.counters().aborted_groups, 1);
  Circle reference(with_evaluation());
  ASSERT_TRUE(reference.run());
  EXPECT_EQ(circle.evaluation_metrics, reference.evaluation_metrics);
}

}  // namespace
}  // namespace physarum::buffer
