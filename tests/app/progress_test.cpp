#include "progress.hpp"

#include <gtest/gtest.h>

namespace physarum::app {
namespace {

TEST(Progress, says_durations_in_the_unit_that_people_use) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.2), "59 s");
  EXPECT_EQ(duration_text(185), "3 min 05 s");
  EXPECT_EQ(duration_text(7620), "2 h 07 min");
}

TEST(Progress, is_quiet_when_standard_error_is_no_terminal) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line("train", 10);
    line.update(1, "reward 0.5");
    line.update(10, "reward 1.0");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace physarum::app
