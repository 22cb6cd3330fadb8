#include "physarum/parallel/wait.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>

#include "physarum/base/error.hpp"

namespace physarum::parallel {

namespace {
constexpr std::int64_t spin_turns = 20;
constexpr std::int64_t yield_turns = 100;
constexpr std::int64_t longest_sleep_us = 100;

std::atomic<const char*> phase{"start"};

struct Hook {
  std::int64_t key;
  std::function<bool()> serve;
};
// By thread: tests run ranks as threads of one process.
thread_local std::vector<Hook> hooks;
thread_local bool inside_hook = false;
std::atomic<std::int64_t> next_key{0};

struct InsideHook {
  InsideHook() { inside_hook = true; }
  ~InsideHook() { inside_hook = false; }
  InsideHook(const InsideHook&) = delete;
  InsideHook& operator=(const InsideHook&) = delete;
  InsideHook(InsideHook&&) = delete;
  InsideHook& operator=(InsideHook&&) = delete;
};
}  // namespace

void Backoff::pause() {
  ++turns_;
  if (turns_ <= spin_turns) return;
  if (turns_ <= spin_turns + yield_turns) {
    sched_yield();
    return;
  }
  const std::int64_t slept = turns_ - spin_turns - yield_turns;
  std::this_thread::sleep_for(std::chrono::microseconds(std::min(10 * slept, longest_sleep_us)));
}

Phase::Phase(const char* literal) noexcept : outer_(phase.exchange(literal)) {}
Phase::~Phase() { phase.store(outer_); }
const char* Phase::current() noexcept { return phase.load(); }

ProgressHook::ProgressHook(std::function<bool()> serve) : key_(next_key++) {
  hooks.push_back({key_, std::move(serve)});
}
ProgressHook::~ProgressHook() {
  std::erase_if(hooks, [this](const Hook& hook) { return hook.key == key_; });
}

bool serve_hooks() {
  if (hooks.empty() || inside_hook) return false;
  const InsideHook guard;
  bool busy = false;
  for (std::size_t i = 0; i < hooks.size(); ++i) busy = hooks[i].serve() || busy;
  return busy;
}

bool wait_until(const std::function<bool()>& ready, const base::Deadline& deadline) {
  return wait_until(ready, deadline, [] { return false; });
}

bool wait_until(const std::function<bool()>& ready, const base::Deadline& deadline,
                const std::function<bool()>& turn) {
  Backoff backoff;
  while (!ready()) {
    // The last look comes after the deadline: whatever is ready by then counts as in time.
    if (deadline.expired()) return ready();
    const bool busy = turn();
    if (serve_hooks() || busy) {
      backoff.reset();
    } else {
      backoff.pause();
    }
  }
  return true;
}

void throw_deadline(const std::string& owner, const std::string& awaited,
                    const base::Deadline& deadline) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", deadline.length_s());
  throw base::DeadlineExceeded(owner + ", phase '" + Phase::current() + "': waited " + seconds +
                               " s for " + awaited);
}

}  // namespace physarum::parallel
