#include "physarum/parallel/options.hpp"

#include <gtest/gtest.h>

namespace physarum::parallel {
namespace {

TEST(ParallelOptions, flags_fill_the_struct) {
  base::OptionTable table;
  LayoutOptions options;
  declare_options(table, options);
  const auto set = [&](const char* name, const char* value) { table.find(name)->set(value, name); };
  set("buffer-ranks", "2");
  set("trainer-ranks", "3");
  set("rollout-ranks", "4");
  EXPECT_EQ(options.buffer_ranks, 2);
  EXPECT_EQ(options.trainer_ranks, 3);
  EXPECT_EQ(options.rollout_ranks, 4);
  EXPECT_TRUE(table.find("colocate")->is_switch());
  for (const char* name :
       {"tensor-model-parallel-size", "pipeline-model-parallel-size", "expert-model-parallel-size",
        "expert-tensor-parallel-size", "rollout-num-gpus-per-engine"}) {
    LayoutOptions one;
    base::OptionTable sizes;
    declare_options(sizes, one);
    EXPECT_FALSE(one.splits_model());
    sizes.find(name)->set("2", name);
    EXPECT_EQ(one.split_flag(), "--" + std::string(name));
  }
  EXPECT_THROW(set("buffer-ranks", "0"), base::UserError);
}

}  // namespace
}  // namespace physarum::parallel
