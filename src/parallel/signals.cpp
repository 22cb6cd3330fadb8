#include "physarum/parallel/signals.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace physarum::parallel {

namespace {

std::atomic<int> asked{0};
std::atomic<std::int64_t> asked_ns{0};
static_assert(std::atomic<int>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler may use them");

constexpr std::int64_t twice_ns = 1'000'000'000;

std::int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

extern "C" void ask(int signal) {
  const int saved = errno;
  int none = 0;
  if (asked.compare_exchange_strong(none, signal)) {
    asked_ns = now_ns();
  } else if (asked_ns != 0 && now_ns() - asked_ns > twice_ns) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  errno = saved;
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = &ask;
  action.sa_flags = SA_RESTART;  // system calls of libraries do not expect to be interrupted
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGUSR1, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

int stop_signal() noexcept { return asked; }

}  // namespace physarum::parallel
