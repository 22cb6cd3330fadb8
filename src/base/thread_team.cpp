#include "physarum/base/thread_team.hpp"

#include <algorithm>
#include <utility>

#include "physarum/base/contracts.hpp"

namespace physarum::base {

namespace {
/// Looks before a thread sleeps or gives its core away: some ten microseconds, more than what lies
/// between two loops of one step.
constexpr int looks = 400;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
}  // namespace

IndexRange part_of(std::int64_t count, int part, int parts, std::int64_t unit) {
  expects(unit >= 1 && parts >= 1 && part >= 0 && part < parts, "a part of something");
  const std::int64_t units = (count + unit - 1) / unit;
  const std::int64_t first = std::min(count, units * part / parts * unit);
  const std::int64_t end = std::min(count, units * (part + 1) / parts * unit);
  return {first, end - first};
}

ThreadTeam::ThreadTeam(int threads) : size_(threads) {
  expects(threads >= 1, "a team has at least its caller");
  for (int part = 1; part < size_; ++part) threads_.emplace_back([this, part] { serve(part); });
}

ThreadTeam::~ThreadTeam() {
  ends_.store(true);
  round_.fetch_add(1);
  round_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void ThreadTeam::call(Job job) {
  if (size_ == 1) return job.call(job.context, 0);
  job_ = job;
  at_work_.store(size_ - 1, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  do_part(0);
  int left = 0;
  for (int look = 0; (left = at_work_.load(std::memory_order_acquire)) > 0; ++look) {
    if (look < looks) {
      pause();
    } else {
      at_work_.wait(left, std::memory_order_acquire);
    }
  }
  if (failed_.load(std::memory_order_acquire)) {
    failed_.store(false);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void ThreadTeam::do_part(int part) noexcept {
  try {
    job_.call(job_.context, part);
  } catch (...) {
    // The first one is kept.
    auto failure = std::current_exception();
    bool none = false;
    if (failed_.compare_exchange_strong(none, true)) failure_ = std::move(failure);
  }
}

void ThreadTeam::serve(int part) {
  std::uint32_t seen = 0;
  while (true) {
    for (int look = 0; round_.load(std::memory_order_acquire) == seen; ++look) {
      if (look < looks) {
        pause();
      } else {
        round_.wait(seen, std::memory_order_acquire);
      }
    }
    ++seen;
    if (ends_.load()) return;
    do_part(part);
    if (at_work_.fetch_sub(1, std::memory_order_acq_rel) == 1) at_work_.notify_one();
  }
}

}  // namespace physarum::base
