#include "memory_plan.hpp"

#include <gtest/gtest.h>

#include "physarum/parallel/communicator.hpp"

namespace physarum::app {
namespace {

std::vector<std::string> plan_for(int ranks, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{
      "--hf-checkpoint",  std::string(PHYSARUM_INPUTS) + "/model-small",
      "--num-rollout",    "1",
      "--kv-cache-bytes", "1000000"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const parallel::Communicator alone;
  return memory_plan(load_setup("check", arguments, Needs::circle, alone, ranks)).lines();
}

TEST(MemoryPlan, names_every_kind_of_rank) {
  const auto lines = plan_for(4);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].starts_with("buffer rank: "));
  EXPECT_TRUE(lines[1].starts_with("trainer rank: "));
  EXPECT_TRUE(lines[2].starts_with("rollout rank: "));
}

TEST(MemoryPlan, follows_the_options_that_cost_memory) {
  EXPECT_NE(plan_for(4)[0], plan_for(4, {"--update-weight-delta-ring", "8"})[0]);
  EXPECT_NE(plan_for(4)[0], plan_for(4, {"--update-weight-transfer-type", "f32"})[0]);
  EXPECT_NE(plan_for(4)[1], plan_for(4, {"--async-save"})[1]);
  EXPECT_NE(plan_for(4)[2], plan_for(4, {"--kv-cache-bytes", "2000000"})[2]);
}

}  // namespace
}  // namespace physarum::app
