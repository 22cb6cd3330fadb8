#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/parallel/layout.hpp"

namespace physarum::parallel {
namespace {

std::string refusal(int world_size, const LayoutOptions& options, const LayoutNeeds& needs = {}) {
  try {
    (void)RankLayout::plan(world_size, options, needs);
  } catch (const base::UserError& error) {
    return error.what();
  }
  return "accepted";
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST(RankLayout, gives_rollout_what_is_left) {
  const auto plan = RankLayout::plan(4, {.buffer_ranks = 1, .trainer_ranks = 1});
  EXPECT_EQ(plan.buffer_ranks(), std::vector<int>{0});
  EXPECT_EQ(plan.trainer_ranks(), std::vector<int>{1});
  EXPECT_EQ(plan.rollout_ranks(), (std::vector<int>{2, 3}));
  EXPECT_EQ(plan.describe(), "4 ranks: buffer 0, trainer 1, rollout 2-3");
}

TEST(RankLayout, gives_every_rank_exactly_one_role_when_separate) {
  for (int world = 3; world <= 9; ++world) {
    for (int buffers = 1; buffers <= world - 2; ++buffers) {
      for (int trainers = 1; trainers <= world - buffers - 1; ++trainers) {
        const auto plan =
            RankLayout::plan(world, {.buffer_ranks = buffers, .trainer_ranks = trainers});
        for (int rank = 0; rank < world; ++rank) {
          EXPECT_EQ(plan.is_buffer(rank) + plan.is_trainer(rank) + plan.is_rollout(rank), 1);
        }
        EXPECT_EQ(plan.role_name(0), "buffer");
        EXPECT_EQ(plan.role_name(buffers), "trainer");
        EXPECT_EQ(plan.role_name(world - 1), "rollout");
      }
    }
  }
}

TEST(RankLayout, colocates_all_roles_on_one_rank) {
  const auto plan = RankLayout::plan(1, {.colocate = true});
  EXPECT_TRUE(plan.is_buffer(0) && plan.is_trainer(0) && plan.is_rollout(0));
  EXPECT_EQ(plan.role_name(0), "buffer+trainer+rollout");
}

TEST(RankLayout, colocated_buffers_are_the_first_ranks) {
  const auto plan = RankLayout::plan(3, {.buffer_ranks = 2, .colocate = true});
  EXPECT_EQ(plan.buffer_ranks(), (std::vector<int>{0, 1}));
  EXPECT_EQ(plan.trainer_ranks(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(plan.rollout_ranks(), plan.trainer_ranks());
}

TEST(RankLayout, says_how_many_ranks_to_start) {
  const auto text = refusal(2, {});
  EXPECT_TRUE(has(text, "buffer 1 + trainer 1 + rollout 1 ranks do not fit into 2 ranks")) << text;
  EXPECT_TRUE(has(text, "-n 3")) << text;
  EXPECT_TRUE(has(text, "--colocate")) << text;
}

TEST(RankLayout, refuses_ranks_without_work) {
  const auto text = refusal(6, {.trainer_ranks = 2, .rollout_ranks = 2});
  EXPECT_TRUE(has(text, "leave 1 of 6 ranks without work")) << text;
}

TEST(RankLayout, refuses_counts_beside_colocate) {
  EXPECT_TRUE(has(refusal(2, {.trainer_ranks = 1, .colocate = true}), "--trainer-ranks"));
  EXPECT_TRUE(has(refusal(2, {.rollout_ranks = 1, .colocate = true}), "--rollout-ranks"));
  EXPECT_TRUE(has(refusal(2, {.buffer_ranks = 3, .colocate = true}), "--buffer-ranks"));
}

TEST(RankLayout, refuses_missing_and_negative_groups) {
  EXPECT_TRUE(has(refusal(3, {.buffer_ranks = 0}), "--buffer-ranks"));
  EXPECT_TRUE(has(refusal(3, {.trainer_ranks = -1}), "cannot be negative: -1"));
  EXPECT_TRUE(has(refusal(3, {.rollout_ranks = -2}), "--rollout-ranks"));
  EXPECT_TRUE(has(refusal(3, {.trainer_ranks = 0}), "needs at least 1 rank to train"));
  EXPECT_TRUE(has(refusal(2, {.rollout_ranks = 0}), "needs at least 1 rank to generate"));
}

TEST(RankLayout, leaves_out_roles_that_the_command_does_not_need) {
  const auto generate = RankLayout::plan(3, {}, {.trainer_ranks = 0, .rollout_ranks = 1});
  EXPECT_TRUE(generate.trainer_ranks().empty());
  EXPECT_EQ(generate.rollout_ranks(), (std::vector<int>{1, 2}));
  const auto replay = RankLayout::plan(2, {}, {.trainer_ranks = 1, .rollout_ranks = 0});
  EXPECT_TRUE(replay.rollout_ranks().empty());
  EXPECT_EQ(replay.describe(), "2 ranks: buffer 0, trainer 1, rollout none");
}

}  // namespace
}  // namespace physarum::parallel
