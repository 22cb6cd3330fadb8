#include "prefix_cache.hpp"

#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

namespace physarum::rollout {
namespace {

constexpr std::int64_t floats = 16;
constexpr std::int64_t capacity = 6;
constexpr base::WeightVersion version(3);

using OneBlock = std::array<base::TokenId, model::cache_block_tokens>;

OneBlock tokens_from(base::TokenId first) {
  OneBlock tokens;
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// Every prefix has the same hash.
std::uint64_t no_hash(std::uint64_t /*before*/, BlockTokens /*tokens*/) { return 7; }

class Prefixes : public testing::Test {
 protected:
  PrefixBlock* add(PrefixCache& cache, const PrefixBlock* before, base::TokenId first) {
    pool_.reserve(1);
    return cache.add({before, version}, tokens_from(first), cache.take());
  }
  BlockPool pool_{floats, capacity* floats * 4};
  PrefixCache cache_{pool_};
};

TEST_F(Prefixes, a_block_is_found_by_all_tokens_up_to_its_end) {
  const auto* first = add(cache_, nullptr, 0);
  const auto* second = add(cache_, first, 16);
  EXPECT_EQ(cache_.find({nullptr, version}, tokens_from(0)), first);
  EXPECT_EQ(cache_.find({first, version}, tokens_from(16)), second);
  // The same tokens elsewhere are another prefix.
  EXPECT_EQ(cache_.find({nullptr, version}, tokens_from(16)), nullptr);
  EXPECT_EQ(cache_.find({second, version}, tokens_from(16)), nullptr);
  EXPECT_EQ(cache_.find({first, version}, tokens_from(17)), nullptr);
}

TEST_F(Prefixes, tokens_are_compared_whatever_the_hash_says) {
  PrefixCache cache(pool_, &no_hash);
  const auto* a = add(cache, nullptr, 0);
  const auto* b = add(cache, nullptr, 100);
  const auto* behind_a = add(cache, a, 16);
  ASSERT_NE(behind_a, nullptr);
  EXPECT_EQ(cache.find({nullptr, version}, tokens_from(0)), a);
  EXPECT_EQ(cache.find({nullptr, version}, tokens_from(100)), b);
  EXPECT_EQ(cache.find({a, version}, tokens_from(16)), behind_a);
  EXPECT_EQ(cache.find({b, version}, tokens_from(16)), nullptr);
  auto almost = tokens_from(0);
  almost.back() = 3;
  EXPECT_EQ(cache.find({nullptr, version}, almost), nullptr);
}

TEST_F(Prefixes, the_second_of_two_equal_blocks_stays_with_its_owner) {
  ASSERT_NE(add(cache_, nullptr, 0), nullptr);
  pool_.reserve(1);
  float* own = cache_.take();
  EXPECT_EQ(cache_.add({nullptr, version}, tokens_from(0), own), nullptr);
  EXPECT_NE(cache_.find({nullptr, version}, tokens_from(0))->at, own);
}

TEST_F(Prefixes, held_blocks_count_once_and_unheld_ones_not_at_all) {
  auto* block = add(cache_, nullptr, 0);
  EXPECT_EQ(pool_.unreserved(), capacity - 1);
  cache_.hold(*block);
  EXPECT_EQ(pool_.unreserved(), capacity - 1);
  cache_.release(*block);
  cache_.release(*block);
  EXPECT_EQ(pool_.unreserved(), capacity);
  EXPECT_EQ(cache_.unheld(), 1);
  EXPECT_THROW(cache_.release(*block), base::ContractViolation);
}

TEST_F(Prefixes, what_is_unheld_the_longest_is_given_up_first_and_ends_before_beginnings) {
  std::vector<PrefixBlock*> long_one{add(cache_, nullptr, 0)};
  long_one.push_back(add(cache_, long_one.back(), 16));
  long_one.push_back(add(cache_, long_one.back(), 32));
  auto* other = add(cache_, nullptr, 100);
  for (auto* block : {long_one[2], long_one[1], long_one[0], other}) cache_.release(*block);
  // The beginning was used again.
  cache_.hold(*long_one[0]);
  cache_.release(*long_one[0]);
  pool_.reserve(capacity);
  std::set<float*> taken;
  for (int i = 0; i < 2; ++i) taken.insert(cache_.take());
  EXPECT_EQ(cache_.unheld(), 4);  // there was room
  const auto is_there = [&](const PrefixBlock* before, base::TokenId first) {
    return cache_.find({before, version}, tokens_from(first)) != nullptr;
  };
  taken.insert(cache_.take());
  EXPECT_FALSE(is_there(long_one[1], 32));
  taken.insert(cache_.take());
  EXPECT_FALSE(is_there(long_one[0], 16));
  EXPECT_TRUE(is_there(nullptr, 100));
  taken.insert(cache_.take());
  EXPECT_FALSE(is_there(nullptr, 100));
  EXPECT_TRUE(is_there(nullptr, 0));
  taken.insert(cache_.take());
  EXPECT_FALSE(is_there(nullptr, 0));
  EXPECT_EQ(taken.size(), static_cast<std::size_t>(capacity));
  EXPECT_THROW((void)cache_.take(), base::ContractViolation);
}

TEST_F(Prefixes, forgotten_blocks_stay_with_their_holders) {
  auto* held = add(cache_, nullptr, 0);
  auto* unheld = add(cache_, nullptr, 100);
  cache_.release(*unheld);
  cache_.forget();
  EXPECT_EQ(cache_.unheld(), 0);
  EXPECT_EQ(cache_.find({nullptr, version}, tokens_from(0)), nullptr);
  EXPECT_EQ(cache_.find({nullptr, version}, tokens_from(100)), nullptr);
  EXPECT_EQ(pool_.unreserved(), capacity - 1);
  EXPECT_THROW((void)cache_.add({held, version}, tokens_from(16), nullptr),
               base::ContractViolation);
  // The same tokens under new weights, while somebody still has the old ones.
  auto* again = add(cache_, nullptr, 0);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(cache_.find({held, version}, tokens_from(16)), nullptr);
  cache_.release(*held);
  EXPECT_EQ(cache_.find({nullptr, version}, tokens_from(0)), again);
  cache_.release(*again);
  pool_.reserve(capacity);
  std::set<float*> all;
  for (int i = 0; i < capacity; ++i) all.insert(cache_.take());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(capacity));
}

}  // namespace
}  // namespace physarum::rollout
