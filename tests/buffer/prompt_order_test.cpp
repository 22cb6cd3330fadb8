#include "prompt_order.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace physarum::buffer {
namespace {

std::vector<std::int64_t> epoch(const PromptOrder& order, std::int64_t size, std::int64_t number) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < size; ++i) indices.push_back(order.index(number * size + i));
  return indices;
}

TEST(PromptOrder, without_shuffle_runs_through_the_source_again_and_again) {
  const PromptOrder order(5, Shuffle::off, 1);
  EXPECT_EQ(epoch(order, 5, 0), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(epoch(order, 5, 7), epoch(order, 5, 0));
}

TEST(PromptOrder, every_epoch_has_every_prompt_once) {
  for (const std::int64_t size : {1, 2, 3, 7, 64, 100, 1000}) {
    const PromptOrder order(size, Shuffle::per_epoch, 42);
    for (const std::int64_t number : {0, 1, 5}) {
      const auto indices = epoch(order, size, number);
      const std::set<std::int64_t> distinct(indices.begin(), indices.end());
      EXPECT_EQ(static_cast<std::int64_t>(distinct.size()), size);
      EXPECT_EQ(*distinct.begin(), 0);
      EXPECT_EQ(*distinct.rbegin(), size - 1);
    }
  }
}

TEST(PromptOrder, epochs_and_seeds_have_orders_of_their_own) {
  const PromptOrder order(100, Shuffle::per_epoch, 42), other(100, Shuffle::per_epoch, 43);
  EXPECT_NE(epoch(order, 100, 0), epoch(order, 100, 1));
  EXPECT_NE(epoch(order, 100, 0), epoch(other, 100, 0));
  EXPECT_EQ(epoch(order, 100, 0), epoch(PromptOrder(100, Shuffle::per_epoch, 42), 100, 0));
}

TEST(PromptOrder, first_places_are_spread_over_the_source) {
  std::vector<int> counts(10, 0);
  for (std::uint64_t seed = 0; seed < 2000; ++seed)
    ++counts[static_cast<std::size_t>(PromptOrder(10, Shuffle::per_epoch, seed).index(0))];
  const auto [least, most] = std::ranges::minmax(counts);
  EXPECT_GT(least, 140);  // 200 expected, standard deviation 13
  EXPECT_LT(most, 260);
}

TEST(PromptOrder, serves_sources_too_large_to_list) {
  const std::int64_t size = (std::int64_t{1} << 61) + 12345;
  const PromptOrder order(size, Shuffle::per_epoch, 3);
  std::set<std::int64_t> seen;
  for (std::int64_t position = 0; position < 1000; ++position) {
    const auto index = order.index(position);
    EXPECT_TRUE(index >= 0 && index < size);
    EXPECT_TRUE(seen.insert(index).second);
  }
}

}  // namespace
}  // namespace physarum::buffer
