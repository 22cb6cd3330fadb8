#include "physarum/weights/reshard_rounds.hpp"

#include <gtest/gtest.h>

namespace physarum::weights {
namespace {

constexpr std::int64_t block = StoreShards::block_bytes;

TEST(StoreShards, every_byte_has_the_holder_whose_range_it_is_in) {
  for (const std::int64_t bytes : {std::int64_t{1}, block, 5 * block + 3, 64 * block}) {
    for (const std::int64_t ranks : {1, 2, 3, 7}) {
      const StoreShards shards(bytes, ranks);
      std::int64_t at = 0;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const Range range = shards.of(rank);
        EXPECT_EQ(range.begin, at);
        at = range.end;
        if (range.size() == 0) continue;
        EXPECT_EQ(shards.holder(range.begin), rank);
        EXPECT_EQ(shards.holder(range.end - 1), rank);
      }
      EXPECT_EQ(at, bytes);
    }
  }
}

TEST(RoundCutter, whole_runs_go_in_one_transfer) {
  const std::vector<ShardSlice> slices{
      {.tensor = 0, .image = {100, 10, 1000, 50}, .shard_offset = 7, .shard_stride = 10}};
  RoundCutter cutter(slices, StoreShards(100 * block, 1), 1 << 20);
  const auto round = cutter.next();
  ASSERT_EQ(round.size(), 1U);
  EXPECT_EQ(round[0], (Transfer{0, {100, 10, 1000, 50}, 7, 10}));
  EXPECT_TRUE(cutter.next().empty());
}

TEST(RoundCutter, a_round_ends_inside_a_run) {
  const std::vector<ShardSlice> slices{
      {.tensor = 0, .image = {0, 12, 3, 100}, .shard_offset = 0, .shard_stride = 12}};
  RoundCutter cutter(slices, StoreShards(block, 1), 20);
  EXPECT_EQ(cutter.next(), (std::vector<Transfer>{{0, {0, 12, 1, 100}, 0, 12},  //
                                                  {0, {100, 8, 1, 100}, 12, 12}}));
  EXPECT_EQ(cutter.next(),
            (std::vector<Transfer>{{0, {108, 4, 1, 100}, 20, 12}, {0, {200, 12, 1, 100}, 24, 12}}));
  EXPECT_TRUE(cutter.next().empty());
}

TEST(RoundCutter, a_transfer_stays_with_one_buffer_rank) {
  const std::vector<ShardSlice> slices{
      {.tensor = 0, .image = {block - 150, 100, 4, 100}, .shard_offset = 0, .shard_stride = 100}};
  RoundCutter cutter(slices, StoreShards(2 * block, 2), 1 << 20);
  EXPECT_EQ(cutter.next(), (std::vector<Transfer>{{0, {block - 150, 100, 1, 100}, 0, 100},
                                                  {0, {block - 50, 50, 1, 100}, 100, 100},
                                                  {1, {0, 50, 1, 100}, 150, 100},
                                                  {1, {50, 100, 2, 100}, 200, 100}}));
}

TEST(RoundCutter, a_smaller_buffer_makes_more_rounds) {
  EXPECT_EQ(rounds_for(1000, 1000), 1);
  EXPECT_EQ(rounds_for(1000, 500), 2);
  EXPECT_EQ(rounds_for(1000, 499), 3);  // whole elements: 496
  EXPECT_EQ(rounds_for(0, 500), 0);
}

}  // namespace
}  // namespace physarum::weights
