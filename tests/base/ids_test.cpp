#include "physarum/base/ids.hpp"

#include <unordered_set>

#include <gtest/gtest.h>

#include "physarum/base/narrow.hpp"

namespace physarum::base {
namespace {

static_assert(!std::is_convertible_v<SampleId, GroupId>);
static_assert(!std::is_convertible_v<WorldRank, GroupRank>);
static_assert(!std::is_convertible_v<int, WorldRank>);

TEST(Id, is_invalid_until_given_and_orders_by_value) {
  EXPECT_FALSE(SampleId{}.valid());
  EXPECT_LT(SampleId(1), SampleId(2));
  EXPECT_EQ((std::unordered_set<GroupId>{GroupId(1), GroupId(1), GroupId(2)}.size()), 2U);
}

TEST(Narrow, refuses_to_lose) {
  EXPECT_EQ(narrow<int>(std::int64_t{5}), 5);
  EXPECT_THROW((void)narrow<int>(std::int64_t{1} << 40), ContractViolation);
  EXPECT_THROW((void)narrow<std::uint32_t>(-1), ContractViolation);
  EXPECT_THROW((void)narrow<std::int64_t>(~std::uint64_t{0}), ContractViolation);
}

}  // namespace
}  // namespace physarum::base
