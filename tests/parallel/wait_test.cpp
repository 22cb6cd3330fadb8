#include "physarum/parallel/wait.hpp"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "physarum/base/error.hpp"

namespace physarum::parallel {
namespace {

using base::Deadline;

double process_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(Wait, returns_as_soon_as_it_is_ready) {
  int looks = 0;
  EXPECT_TRUE(wait_until([&] { return ++looks == 5; }, Deadline::in(10)));
  EXPECT_EQ(looks, 5);
}

TEST(Wait, returns_false_after_its_deadline) {
  const base::Stopwatch watch;
  EXPECT_FALSE(wait_until([] { return false; }, Deadline::in(0.05)));
  EXPECT_GE(watch.seconds(), 0.05);
}

TEST(Wait, looks_once_even_when_the_deadline_is_over) {
  EXPECT_TRUE(wait_until([] { return true; }, Deadline::in(0)));
}

TEST(Wait, sleeps_instead_of_spinning) {
  const double before = process_cpu_s();
  EXPECT_FALSE(wait_until([] { return false; }, Deadline::in(1)));
  EXPECT_LT(process_cpu_s() - before, 0.2);
}

TEST(Wait, serves_hooks_meanwhile) {
  int served = 0;
  const ProgressHook hook([&] { return ++served > 0; });
  EXPECT_TRUE(wait_until([&] { return served >= 3; }, Deadline::in(10)));
}

TEST(Wait, does_not_call_hooks_from_inside_a_hook) {
  int depth = 0;
  int deepest = 0;
  int calls = 0;
  const ProgressHook hook([&] {
    deepest = std::max(deepest, ++depth);
    ++calls;
    EXPECT_FALSE(wait_until([] { return false; }, Deadline::in(0.001)));
    EXPECT_FALSE(serve_hooks());
    --depth;
    return true;
  });
  EXPECT_TRUE(wait_until([&] { return calls >= 2; }, Deadline::in(10)));
  EXPECT_EQ(deepest, 1);
}

TEST(Wait, forgets_a_hook_that_ended) {
  int served = 0;
  {
    const ProgressHook hook([&] { return ++served > 0; });
  }
  EXPECT_FALSE(serve_hooks());
  EXPECT_EQ(served, 0);
}

TEST(Wait, passes_on_what_a_hook_throws) {
  const ProgressHook hook([]() -> bool { throw std::runtime_error("buffer broke"); });
  EXPECT_THROW((void)wait_until([] { return false; }, Deadline::in(10)), std::runtime_error);
  EXPECT_THROW((void)serve_hooks(), std::runtime_error);  // and may be served again
}

TEST(Phase, nests_and_returns_to_the_outer_one) {
  EXPECT_STREQ(Phase::current(), "start");
  const Phase outer("publish");
  {
    const Phase inner("flush");
    EXPECT_STREQ(Phase::current(), "flush");
  }
  EXPECT_STREQ(Phase::current(), "publish");
}

TEST(Wait, expired_deadline_names_owner_phase_and_purpose) {
  const Phase phase("publish");
  try {
    throw_deadline("rank 1 of 4 in 'core'", "barrier", Deadline::in(2.5));
  } catch (const base::DeadlineExceeded& error) {
    EXPECT_STREQ(error.what(), "rank 1 of 4 in 'core', phase 'publish': waited 2.5 s for barrier");
  }
}

/// How often this thread has gone to sleep; who is interrupted has not.
long sleeps() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST(Backoff, starts_again_after_reset) {
  Backoff backoff;
  const long before = sleeps();
  for (int i = 0; i < 300; ++i) backoff.pause();
  const long between = sleeps();
  EXPECT_GT(between, before);
  backoff.reset();
  for (int i = 0; i < 20; ++i) backoff.pause();
  EXPECT_EQ(sleeps(), between);
}

}  // namespace
}  // namespace physarum::parallel
