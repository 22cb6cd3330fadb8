#include "physarum/base/thread_team.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

namespace physarum::base {
namespace {

TEST(PartOf, parts_cover_everything_once_and_in_order) {
  for (const std::int64_t count : {0, 1, 5, 48, 97, 1000}) {
    for (const std::int64_t unit : {1, 16, 48}) {
      for (const int parts : {1, 2, 3, 7}) {
        std::int64_t next = 0;
        for (int part = 0; part < parts; ++part) {
          const auto range = part_of(count, part, parts, unit);
          EXPECT_EQ(range.first, next);
          EXPECT_TRUE(range.first % unit == 0 || range.count == 0);
          next += range.count;
        }
        EXPECT_EQ(next, count);
      }
    }
  }
  EXPECT_THROW((void)part_of(1, 2, 2), ContractViolation);
}

TEST(ThreadTeam, every_part_is_done_once_in_every_loop) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadTeam team(threads);
    ASSERT_EQ(team.size(), threads);
    std::vector<std::int64_t> done(static_cast<std::size_t>(threads), 0);
    for (int loop = 1; loop <= 300; ++loop) {
      team.run([&](int part) { ++done[static_cast<std::size_t>(part)]; });
      // What the parts wrote is seen here.
      for (const auto count : done) ASSERT_EQ(count, loop);
    }
  }
}

TEST(ThreadTeam, the_caller_sleeps_until_the_slowest_part_is_done) {
  ThreadTeam team(3);
  std::atomic<int> done{0};
  team.run([&](int part) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20 * part);
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    ++done;
  });
  EXPECT_EQ(done, 3);
}

TEST(ThreadTeam, an_exception_of_a_part_reaches_the_caller_and_the_team_goes_on) {
  for (const int threads : {1, 2, 4}) {
    ThreadTeam team(threads);
    for (int thrower = 0; thrower < threads; ++thrower) {
      EXPECT_THROW(team.run([&](int part) {
        if (part == thrower) throw std::runtime_error("part");
      }),
                   std::runtime_error);
    }
    std::atomic<int> done{0};
    team.run([&](int) { ++done; });
    EXPECT_EQ(done, threads);
  }
}

TEST(ThreadTeam, ends_though_it_never_worked) {
  ThreadTeam idle(4);
  EXPECT_THROW(ThreadTeam(0), ContractViolation);
}

}  // namespace
}  // namespace physarum::base
