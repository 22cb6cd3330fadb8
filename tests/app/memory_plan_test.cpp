#include "memory_plan.hpp"

#include <gtest/gtest.h>

#include "physarum/parallel/communicator.hpp"

#include "engine_memory.hpp"

namespace physarum::app {
namespace {

std::vector<std::string> plan_for(int ranks, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{
      "--hf-checkpoint", std::string(PHYSARUM_INPUTS) + "/model-small", "--num-rollout", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const parallel::Communicator alone;
  const Setup setup = load_setup("check", arguments, Needs::circle, alone, ranks);
  return memory_plan(setup, weight_plan(setup)).lines();
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
  EXPECT_NE(plan_for(4)[0], plan_for(4, {"--update-weight-mode", "full"})[0]);
  EXPECT_NE(plan_for(4)[2], plan_for(4, {"--weight-carrier", "broadcast"})[2]);
  EXPECT_NE(plan_for(4)[0],
            plan_for(4, {"--weight-carrier", "file", "--weight-directory", "w"})[0]);
  EXPECT_NE(plan_for(4)[1], plan_for(4, {"--async-save"})[1]);
  EXPECT_NE(plan_for(4)[2], plan_for(4, {"--kv-cache-bytes", "200000000"})[2]);
}

TEST(MemoryPlan, counts_what_differs_while_weights_change) {
  const parallel::Communicator alone;
  const auto setup = load_setup(
      "check",
      {"--hf-checkpoint", std::string(PHYSARUM_INPUTS) + "/model-small", "--num-rollout", "1"},
      Needs::circle, alone, 4);
  ASSERT_TRUE(setup.model.tie_word_embeddings);
  const auto image = setup.catalogue->total_bytes();
  const auto table = setup.model.vocab_size * setup.model.hidden_size;
  const auto differing = rollout::weight_change_bytes(setup.catalogue->total_elements() + table);
  EXPECT_NEAR(static_cast<double>(differing), static_cast<double>(image + 2 * table) / 16, 16);
  EXPECT_EQ(engine_weight_bytes(setup), 2 * image + 2 * table + differing);
}

TEST(MemoryPlan, a_split_model_costs_each_rank_less) {
  const auto first_number = [](const std::string& line) {
    return std::stod(line.substr(line.find(": ") + 2));
  };
  const auto whole = plan_for(9, {"--trainer-ranks", "4", "--kv-cache-bytes", "10000000"});
  const auto split =
      plan_for(9, {"--trainer-ranks", "4", "--tensor-model-parallel-size", "2",
                   "--rollout-num-gpus-per-engine", "2", "--kv-cache-bytes", "10000000"});
  EXPECT_LT(first_number(split[1]), 0.7 * first_number(whole[1]));
  EXPECT_LT(first_number(split[2]), first_number(whole[2]));
}

TEST(MemoryPlan, a_share_of_the_memory_is_for_weights_and_cache_of_one_rank) {
  const parallel::Communicator alone;
  const auto cache_of = [&](int ranks) {
    const auto setup = load_setup("check",
                                  {"--hf-checkpoint", std::string(PHYSARUM_INPUTS) + "/model-small",
                                   "--num-rollout", "1", "--sglang-mem-fraction-static", "0.25"},
                                  Needs::circle, alone, ranks);
    const auto options = engine_options(setup);
    EXPECT_FALSE(options.mem_fraction_static);
    EXPECT_NEAR(static_cast<double>(*options.kv_cache_bytes + engine_weight_bytes(setup)),
                0.25 * static_cast<double>(setup.usable_memory_bytes) / ranks, 2);
    EXPECT_NE(memory_plan(setup, weight_plan(setup)).lines()[2].find("together 0.25 of "),
              std::string::npos);
    return *options.kv_cache_bytes;
  };
  EXPECT_GT(cache_of(4), cache_of(8));
}

}  // namespace
}  // namespace physarum::app
