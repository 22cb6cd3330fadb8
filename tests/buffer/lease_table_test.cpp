#include "lease_table.hpp"

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

namespace physarum::buffer {
namespace {

TEST(LeaseTable, returns_leases_after_their_deadline_earliest_first) {
  LeaseTable table;
  table.grant(GroupId(1), WorldRank(5), 0, 20);
  table.grant(GroupId(2), WorldRank(5), 5, 10);
  EXPECT_TRUE(table.expire(14.9).empty());
  const auto expired = table.expire(20);
  ASSERT_EQ(expired.size(), 2u);
  EXPECT_EQ(expired[0].group, GroupId(2));
  EXPECT_EQ(expired[1].group, GroupId(1));
  EXPECT_EQ(table.size(), 0);
  EXPECT_EQ(table.in_flight(WorldRank(5)), 0);
}

TEST(LeaseTable, a_group_lent_again_has_a_new_id_and_deadline) {
  LeaseTable table;
  const auto first = table.grant(GroupId(1), WorldRank(5), 0, 10);
  EXPECT_EQ(table.expire(10).size(), 1u);
  const auto second = table.grant(GroupId(1), WorldRank(6), 10, 10);
  EXPECT_NE(first, second);
  EXPECT_TRUE(table.expire(15).empty());
  EXPECT_EQ(table.find(GroupId(1))->engine, WorldRank(6));
}

TEST(LeaseTable, completion_is_idempotent) {
  LeaseTable table;
  table.grant(GroupId(1), WorldRank(5), 0, 10);
  EXPECT_TRUE(table.complete(GroupId(1)));
  EXPECT_FALSE(table.complete(GroupId(1)));
  EXPECT_TRUE(table.expire(100).empty());
}

TEST(LeaseTable, an_engine_loses_only_its_own_leases) {
  LeaseTable table;
  for (std::int64_t group = 0; group < 6; ++group)
    table.grant(GroupId(group), WorldRank(static_cast<int>(group % 2)), 0, 10);
  EXPECT_EQ(table.drop_engine(WorldRank(1)).size(), 3u);
  EXPECT_EQ(table.in_flight(WorldRank(1)), 0);
  EXPECT_EQ(table.in_flight(WorldRank(0)), 3);
  EXPECT_TRUE(table.drop_engine(WorldRank(9)).empty());
}

TEST(LeaseTable, a_group_is_lent_to_one_engine_at_a_time) {
  LeaseTable table;
  table.grant(GroupId(1), WorldRank(5), 0, 10);
  EXPECT_THROW(table.grant(GroupId(1), WorldRank(6), 0, 10), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::buffer
