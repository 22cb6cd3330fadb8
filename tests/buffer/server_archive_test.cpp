#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/sample/sample_file.hpp"

#include "buffer/circle.hpp"
#include "sample/builders.hpp"
#include "sample/scratch.hpp"

namespace physarum::buffer {
namespace {

using sample::testing::Scratch;
using testing::Circle;
using testing::CircleOptions;

CircleOptions archived(const Scratch& scratch) {
  auto options = testing::small_circle();
  options.buffer.save_samples = true;
  options.buffer.eval_interval = 2;
  options.evaluation_prompts = {3};
  options.archive = scratch / "samples";
  return options;
}

TEST(ServerArchive, holds_every_batch_as_it_was_trained) {
  const Scratch scratch;
  Circle circle(archived(scratch));
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  for (std::int64_t step = 0; step < 4; ++step) {
    const auto file = sample::read_samples(scratch.path() / "samples" /
                                           ("samples_" + std::to_string(step) + ".h5"));
    EXPECT_EQ(file.samples, circle.batch(step));
    EXPECT_EQ(file.header.step, step);
    EXPECT_EQ(file.header.seed, 5);
    EXPECT_EQ(file.header.configuration, "configuration");
  }
}

/// Alternatives are for readers of the files: trainers learn nothing from them and do not get them.
TEST(ServerArchive, alone_holds_the_likeliest_tokens) {
  const Scratch scratch;
  Circle circle(archived(scratch));
  for (const auto& engine : circle.engines) {
    engine->before_hand_in = [](sample::SampleGroup& group) {
      for (auto& one : group.samples) one = sample::testing::with_top_log_probs(std::move(one));
      return true;
    };
  }
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  for (std::int64_t step = 0; step < 4; ++step) {
    auto kept = sample::read_samples(scratch.path() / "samples" /
                                     ("samples_" + std::to_string(step) + ".h5"));
    ASSERT_FALSE(kept.samples.empty());
    for (auto& one : kept.samples) {
      EXPECT_EQ(one.top_log_probs.per_token(one.response_tokens()), 3);
      one.top_log_probs = {};
    }
    EXPECT_EQ(circle.batch(step), kept.samples);
  }
}

TEST(ServerArchive, holds_evaluations_by_version) {
  const Scratch scratch;
  Circle circle(archived(scratch));
  ASSERT_TRUE(circle.run());
  const auto file = sample::read_samples(scratch.path() / "samples" / "eval_2.h5");
  EXPECT_EQ(file.header.purpose, sample::Purpose::evaluate);
  EXPECT_EQ(file.samples.size(), 3u);
}

TEST(ServerArchive, is_left_out_if_not_asked_for) {
  const Scratch scratch;
  auto options = archived(scratch);
  options.buffer.save_samples = false;
  Circle circle(options);
  ASSERT_TRUE(circle.run());
  EXPECT_FALSE(std::filesystem::exists(scratch / "samples"));
}

TEST(ServerArchive, holds_rollouts_without_a_trainer) {
  const Scratch scratch;
  auto options = archived(scratch);
  options.trainers = 0;
  Circle circle(options);
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(sample::read_samples(scratch.path() / "samples" / "samples_3.h5").samples.size(), 8u);
  // Four steps and the evaluations of version 0; each answer is told once.
  const std::set<sample::SampleId> told(circle.answered.begin(), circle.answered.end());
  EXPECT_EQ(told.size(), circle.answered.size());
  EXPECT_EQ(std::ranges::count_if(told, [](auto id) { return id.value() < 100; }), 32);
  for (std::int64_t step = 0; step < 4; ++step) {
    EXPECT_TRUE(circle.taken_metrics.at(step).contains("rollout/pass@2"));
    const auto path = scratch.path() / "samples" / ("samples_" + std::to_string(step) + ".h5");
    EXPECT_EQ(std::ranges::count(circle.files_written, path), 1);
  }
}

TEST(ServerArchive, tells_of_pass_rates_of_rollouts_without_a_trainer_alone) {
  const Scratch scratch;
  Circle circle(archived(scratch));
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_FALSE(circle.taken_metrics.at(0).contains("rollout/pass@2"));
}

TEST(ServerArchive, that_cannot_be_written_ends_the_run) {
  const Scratch scratch;
  auto options = archived(scratch);
  options.archive = "/proc/physarum_no_such_place";
  Circle circle(options);
  EXPECT_ANY_THROW(circle.run());
}

}  // namespace
}  // namespace physarum::buffer
