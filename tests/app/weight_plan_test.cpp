#include "weight_plan.hpp"

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/parallel/communicator.hpp"

namespace physarum::app {
namespace {

Setup weight_setup(int ranks, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{
      "--hf-checkpoint", std::string(PHYSARUM_INPUTS) + "/model-small", "--num-rollout", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const parallel::Communicator alone;
  return load_setup("check", arguments, Needs::circle, alone, ranks);
}

TEST(WeightPlan, a_model_in_one_piece_is_put_in_equal_parts_and_got_whole) {
  const auto setup = weight_setup(6, {"--trainer-ranks", "2", "--buffer-ranks", "2"});
  const auto plan = weight_plan(setup);
  const auto image = setup.catalogue->total_bytes();
  EXPECT_FALSE(plan.split);
  EXPECT_EQ(plan.put.least + plan.put.most, image);
  EXPECT_EQ(plan.kept.least + plan.kept.most, image);
  EXPECT_EQ(plan.got.least, image);
  EXPECT_EQ(plan.trainer_shard, image);
  EXPECT_EQ(plan.lines().size(), 3U);
}

TEST(WeightPlan, a_split_model_is_put_and_got_in_shards) {
  const auto setup = weight_setup(
      7, {"--trainer-ranks", "4", "--tensor-model-parallel-size", "2",
          "--pipeline-model-parallel-size", "2", "--rollout-num-gpus-per-engine", "2"});
  const auto plan = weight_plan(setup);
  const auto image = setup.catalogue->total_bytes();
  EXPECT_TRUE(plan.split);
  EXPECT_LT(plan.put.most, image / 3);
  EXPECT_LT(plan.got.most, image * 6 / 10);
  EXPECT_GE(2 * plan.got.most, image * 95 / 100);
  EXPECT_LT(plan.trainer_shard, image * 4 / 10);
  ASSERT_EQ(plan.lines().size(), 4U);
  EXPECT_NE(plan.lines()[3].find("not possible yet"), std::string::npos);
}

TEST(WeightPlan, the_buffer_size_decides_how_many_rounds) {
  const auto rounds = [](const char* bytes) {
    return weight_plan(weight_setup(3, {"--update-weight-buffer-size", bytes})).most_got_rounds;
  };
  EXPECT_EQ(rounds("67108864"), 1);
  EXPECT_GT(rounds("65536"), 10);
}

TEST(WeightPlan, sizes_that_do_not_fit_the_ranks_are_refused) {
  for (const auto& sizes : std::vector<std::vector<std::string>>{
           {"--trainer-ranks", "3", "--tensor-model-parallel-size", "2"},
           {"--trainer-ranks", "2", "--rollout-num-gpus-per-engine", "2"},
           {"--trainer-ranks", "2", "--expert-model-parallel-size", "2"},
           {"--trainer-ranks", "8", "--rollout-ranks", "1", "--tensor-model-parallel-size", "8"}}) {
    const int ranks = sizes[1] == "8" ? 10 : 6;
    EXPECT_THROW((void)weight_plan(weight_setup(ranks, sizes)), base::UserError) << sizes[3];
  }
}

TEST(WeightPlan, only_check_takes_a_split_model) {
  Configuration configuration;
  EXPECT_NO_THROW(refuse_split_model(configuration));
  configuration.layout.rollout_num_gpus_per_engine = 2;
  EXPECT_THROW(refuse_split_model(configuration), base::UserError);
}

}  // namespace
}  // namespace physarum::app
