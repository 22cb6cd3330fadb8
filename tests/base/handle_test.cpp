#include "physarum/base/handle.hpp"

#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

namespace physarum::base {
namespace {

struct Log {
  static inline int released = 0;
  static inline bool alive = true;
  static inline bool fail = false;
};

template <ReleaseKind release_kind>
struct Traits {
  using value_type = int;
  static constexpr ReleaseKind kind = release_kind;
  static constexpr const char* name = "test handle";
  static int null() { return -1; }
  static bool alive() noexcept { return Log::alive; }
  static void release(int) {
    if (Log::fail) throw std::runtime_error("release failed");
    ++Log::released;
  }
};
using Local = Handle<Traits<ReleaseKind::local>>;
using Collective = Handle<Traits<ReleaseKind::collective>>;

class HandleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Log::released = 0;
    Log::alive = true;
    Log::fail = false;
  }
};

TEST_F(HandleTest, releases_once_whoever_holds_it_last) {
  {
    Local a(3);
    Local b(std::move(a));
    EXPECT_FALSE(a.valid());  // NOLINT(bugprone-use-after-move): the moved-from state is the claim
    EXPECT_EQ(b.get(), 3);
    Local c;
    c = std::move(b);
    Local& same = c;
    c = std::move(same);
    EXPECT_EQ(c.get(), 3);
  }
  EXPECT_EQ(Log::released, 1);
}

TEST_F(HandleTest, close_releases_now_and_detach_never) {
  Local a(1);
  a.close();
  a.close();
  EXPECT_EQ(Log::released, 1);
  Local b(2);
  EXPECT_EQ(b.detach(), 2);
  EXPECT_FALSE(b.valid());
  EXPECT_EQ(Log::released, 1);
}

TEST_F(HandleTest, receive_needs_an_empty_handle) {
  Local a;
  *a.receive() = 4;
  EXPECT_EQ(a.get(), 4);
  EXPECT_THROW((void)a.receive(), ContractViolation);
}

TEST_F(HandleTest, a_live_collective_handle_is_not_assigned_to) {
  Collective a(1);
  EXPECT_THROW(a = Collective(2), ContractViolation);
  a.close();
}

TEST_F(HandleTest, a_collective_release_does_not_happen_while_unwinding) {
  try {
    Collective a(1);
    throw std::runtime_error("something else");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(Log::released, 0);
}

TEST_F(HandleTest, nothing_is_called_after_the_library_ended) {
  {
    Local a(1);
    Log::alive = false;
  }
  EXPECT_EQ(Log::released, 0);
}

TEST_F(HandleTest, a_failing_release_throws_from_close_and_is_reported_by_the_destructor) {
  Log::fail = true;
  Local a(1);
  EXPECT_THROW(a.close(), std::runtime_error);
  { Local b(2); }
  SUCCEED();
}

}  // namespace
}  // namespace physarum::base
