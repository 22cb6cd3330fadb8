#include "block_pool.hpp"

#include <set>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

namespace physarum::rollout {
namespace {

TEST(BlockPool, holds_as_many_blocks_as_its_bytes) {
  BlockPool pool(32, 1000);
  EXPECT_EQ(pool.capacity(), 7);
  pool.reserve(5);
  EXPECT_EQ(pool.unreserved(), 2);
  EXPECT_THROW(pool.reserve(3), base::ContractViolation);
  pool.release(4);
  EXPECT_EQ(pool.unreserved(), 6);
}

TEST(BlockPool, gives_different_blocks_and_takes_them_back) {
  BlockPool pool(16, 64 * 20);
  pool.reserve(20);
  std::set<float*> blocks;
  for (int i = 0; i < 20; ++i) blocks.insert(pool.take());
  EXPECT_EQ(blocks.size(), 20U);
  EXPECT_THROW((void)pool.take(), base::ContractViolation);
  float* one = *blocks.begin();
  pool.give_back(one);
  EXPECT_EQ(pool.take(), one);
}

}  // namespace
}  // namespace physarum::rollout
