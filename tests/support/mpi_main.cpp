// The main of every MPI test program: one MPI session, tests in declared order, output of rank 0
// (of another rank if it fails), a verdict over all ranks, and a watchdog.
//
//   --test-limit-s S   seconds per test (180)
//   --hang-rank R      rank R stops in the first test: proves that the watchdog ends the program

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "physarum/base/deadline.hpp"

#include "physarum/parallel/session.hpp"
#include "physarum/parallel/wait.hpp"

#include "support/mpi_test.hpp"
#include "support/watchdog.hpp"

namespace physarum::test {

Watchdog::Watchdog(int rank) : rank_(rank), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::start(std::string test, double limit_s) {
  const std::lock_guard lock(mutex_);
  test_ = std::move(test);
  limit_s_ = limit_s;
  started_s_ = base::uptime_s();
}

void Watchdog::set_limit(double limit_s) {
  const std::lock_guard lock(mutex_);
  limit_s_ = limit_s;
}

void Watchdog::stop() { start("", 180); }

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    changed_.wait_for(lock, std::chrono::milliseconds(50));
    if (test_.empty() || base::uptime_s() - started_s_ < limit_s_) continue;
    std::fprintf(stderr, "watchdog: rank %d: test %s still runs after %g s, phase '%s'\n", rank_,
                 test_.c_str(), limit_s_, parallel::Phase::current());
    _exit(exit_code);  // not leave(): the hung thread may hold a stream
  }
}

namespace {
struct Settings {
  double limit_s = 180;
  int hang_rank = -1;
};
Settings settings;
std::vector<std::string> arguments;
parallel::Communicator* the_world = nullptr;
Watchdog* the_watchdog = nullptr;

void read_settings(int argc, char** argv) {
  arguments.assign(argv, argv + argc);
  if (const auto limit = argument("--test-limit-s")) settings.limit_s = std::stod(*limit);
  if (const auto rank = argument("--hang-rank")) settings.hang_rank = std::stoi(*rank);
}

std::string full_name(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

/// Watches each test, and lets the ranks meet before it: a rank that left the one before early
/// must not send into it.
class Conductor : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    the_watchdog->start(full_name(test), settings.limit_s);
    the_world->barrier();
    if (settings.hang_rank != the_world->rank()) return;
    const parallel::Phase phase("hanging on purpose");
    while (true) pause();
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (test.result()->Failed() && the_world->rank() != 0) report(test);
    the_watchdog->stop();
  }
  static void report(const testing::TestInfo& test) {
    for (int i = 0; i < test.result()->total_part_count(); ++i) {
      const auto& part = test.result()->GetTestPartResult(i);
      if (!part.failed()) continue;
      std::fprintf(stderr, "rank %d: %s: %s:%d: %s\n", the_world->rank(), full_name(test).c_str(),
                   part.file_name() != nullptr ? part.file_name() : "?", part.line_number(),
                   part.message());
    }
  }
};

void silence_all_but_rank_0() {
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (the_world->rank() != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Conductor);
}
}  // namespace

parallel::Communicator& world() { return *the_world; }
void allow_test_s(double seconds) { the_watchdog->set_limit(seconds); }
std::optional<std::string> argument(std::string_view name) {
  const auto found = std::find(arguments.begin(), arguments.end(), name);
  if (found == arguments.end() || found + 1 == arguments.end()) return std::nullopt;
  return *(found + 1);
}

namespace {
int run_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  parallel::Session session(argc, argv);
  read_settings(argc, argv);
  the_world = &session.world();
  // Shorter than the watchdog: a wait that fails says more than the watchdog can.
  the_world->set_patience_s(settings.limit_s * 0.75);
  Watchdog watchdog(the_world->rank());
  the_watchdog = &watchdog;
  silence_all_but_rank_0();
  const int mine = RUN_ALL_TESTS();
  // After a failure the ranks may be anywhere: no collective, no finalize.
  if (mine != 0 || !parallel::session_alive()) parallel::leave(mine != 0 ? mine : 1);
  watchdog.start("verdict over ranks", settings.limit_s);
  const auto worst = the_world->all_reduce_value<std::int64_t>(mine, parallel::Op::max);
  session.finish();
  watchdog.stop();
  return static_cast<int>(worst);
}
}  // namespace

}  // namespace physarum::test

int main(int argc, char** argv) { return physarum::test::run_tests(argc, argv); }
