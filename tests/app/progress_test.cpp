#include "progress.hpp"

#include <cstdlib>
#include <string>

#include <fcntl.h>
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

/// A terminal of our own, named to the program as the launcher does it.
class ProgressOnATerminal : public ::testing::Test {
 protected:
  void SetUp() override {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(master_, 0);
    ASSERT_EQ(::grantpt(master_), 0);
    ASSERT_EQ(::unlockpt(master_), 0);
    ::setenv("PHYSARUM_TERMINAL", ::ptsname(master_), 1);
  }
  void TearDown() override {
    ::unsetenv("PHYSARUM_TERMINAL");
    ::close(master_);
  }
  std::string shown() const {
    char text[512];
    const auto length = ::read(master_, text, sizeof text);
    return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
  }
  int master_ = -1;
};

TEST_F(ProgressOnATerminal, draws_one_line_and_clears_it) {
  ProgressLine line("train", 10);
  line.update(1, "reward 0.5");
  const auto text = shown();
  EXPECT_TRUE(text.starts_with("\r\033[Ktrain 1/10  ")) << text;
  EXPECT_TRUE(text.ends_with("left  reward 0.5")) << text;
  line.clear();
  EXPECT_EQ(shown(), "\r\033[K");
}

TEST_F(ProgressOnATerminal, that_is_no_terminal_is_left_alone) {
  ::setenv("PHYSARUM_TERMINAL", "/dev/null", 1);
  EXPECT_FALSE(open_terminal());
  ::setenv("PHYSARUM_TERMINAL", "/nowhere/at/all", 1);
  EXPECT_FALSE(open_terminal());
}

}  // namespace
}  // namespace physarum::app
