#include "physarum/base/deadline.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

namespace physarum::base {
namespace {

TEST(Deadline, expires_and_remembers_its_length) {
  const auto now = Deadline::in(0);
  EXPECT_TRUE(now.expired());
  const auto later = Deadline::in(1000);
  EXPECT_FALSE(later.expired());
  EXPECT_GT(later.remaining_s(), 900);
  EXPECT_EQ(later.length_s(), 1000);
}

TEST(Deadline, refuses_to_be_infinite_or_negative) {
  EXPECT_THROW((void)Deadline::in(std::numeric_limits<double>::infinity()), ContractViolation);
  EXPECT_THROW((void)Deadline::in(-1), ContractViolation);
}

TEST(Stopwatch, goes_forward) {
  Stopwatch watch;
  EXPECT_GE(watch.restart(), 0);
  EXPECT_GE(uptime_s(), 0);
}

}  // namespace
}  // namespace physarum::base
