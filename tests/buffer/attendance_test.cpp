#include "attendance.hpp"

#include <gtest/gtest.h>

#include "served_clock.hpp"

namespace physarum::buffer {
namespace {

const Client engine{WorldRank(3), Party::engine};
const Client trainer{WorldRank(3), Party::trainer};  // the same rank in its other role

TEST(Attendance, blames_only_clients_whose_turn_it_is) {
  Attendance attendance;
  attendance.expect(engine, 0);
  attendance.expect(trainer, 0);
  attendance.waits(engine);
  attendance.heard(trainer, 5);
  EXPECT_FALSE(attendance.silent_since(4));
  EXPECT_EQ(attendance.silent_since(6), trainer);
  attendance.answered(engine, 10);
  attendance.waits(trainer);
  EXPECT_FALSE(attendance.silent_since(9));
  EXPECT_EQ(attendance.silent_since(11), engine);
}

TEST(Attendance, a_colocated_rank_leaves_role_by_role) {
  Attendance attendance;
  attendance.expect(engine, 0);
  attendance.expect(trainer, 0);
  EXPECT_TRUE(attendance.leave(engine));
  EXPECT_FALSE(attendance.leave(engine));
  EXPECT_FALSE(attendance.empty());
  EXPECT_EQ(attendance.count(Party::trainer), 1);
  EXPECT_TRUE(attendance.leave(trainer));
  EXPECT_TRUE(attendance.empty());
}

TEST(Attendance, buffer_ranks_may_be_silent) {
  Attendance attendance;
  attendance.expect({WorldRank(1), Party::server}, 0);
  EXPECT_FALSE(attendance.silent_since(100));
  EXPECT_TRUE(attendance.all_wait());
}

TEST(ServedClock, does_not_count_what_the_server_slept_through) {
  double now = 100;
  ServedClock clock([&] { return now; }, 1.0);
  now = 100.5;
  clock.tick();
  EXPECT_DOUBLE_EQ(clock.served_s(), 0.5);
  now = 900;
  clock.tick();
  EXPECT_DOUBLE_EQ(clock.served_s(), 1.5);
  EXPECT_DOUBLE_EQ(clock.now_s(), 900);
  now = 899;  // a clock that steps back takes nothing away
  clock.tick();
  EXPECT_DOUBLE_EQ(clock.served_s(), 1.5);
}

}  // namespace
}  // namespace physarum::buffer
