// Ranks that wait leave their core to those that work.

#include <algorithm>
#include <cstdio>

#include <sys/resource.h>

#include "physarum/base/deadline.hpp"

#include "support/mpi_test.hpp"

namespace physarum::parallel {
namespace {

using test::world;

double process_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(Idle, waiting_ranks_use_little_of_their_core) {
  world().barrier();
  const double before = process_cpu_s();
  const base::Stopwatch watch;
  constexpr double wait_s = 1.0;
  if (world().rank() == 0) {
    volatile double sink = 0;
    while (watch.seconds() < wait_s) sink = sink + 1;
  }
  world().barrier();
  // On a machine with too much to do a wait is longer than the work.
  const double share = (process_cpu_s() - before) / std::max(watch.seconds(), wait_s);
  const double most = world().all_reduce_value(world().rank() == 0 ? 0.0 : share, Op::max);
  if (world().rank() == 0 && world().size() > 1) {
    std::printf("a waiting rank used %.0f %% of a core\n", most * 100);
  }
  EXPECT_LT(most, 0.3);
}

}  // namespace
}  // namespace physarum::parallel
