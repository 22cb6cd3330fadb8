#include "simulated_link.hpp"

#include <algorithm>

#include <sched.h>

#include "physarum/parallel/wait.hpp"

namespace physarum::weights {
namespace {
constexpr std::size_t word_message_bytes = 64;

base::Clock::duration seconds(double value) {
  return std::chrono::duration_cast<base::Clock::duration>(std::chrono::duration<double>(value));
}
}  // namespace

void LinkClock::book(std::size_t bytes) {
  if (link_.gigabits_per_s <= 0) return;
  free_at_ = std::max(free_at_, base::Clock::now()) +
             seconds(static_cast<double>(bytes) * 8e-9 / link_.gigabits_per_s);
}

// No sleep: it would end late by more than a fast link's transfers take.
void LinkClock::wait(int trips) {
  if (link_.gigabits_per_s <= 0) return;
  const auto until = std::max(free_at_, base::Clock::now()) + seconds(trips * link_.latency_s);
  while (base::Clock::now() < until) {
    parallel::serve_hooks();
    sched_yield();
  }
}

void LinkedAccess::put(std::span<const std::byte> from, int buffer, std::uint64_t offset) {
  clock_.book(from.size());
  below_.put(from, buffer, offset);
}

void LinkedAccess::get(std::span<std::byte> to, int buffer, std::uint64_t offset) {
  clock_.book(to.size());
  below_.get(to, buffer, offset);
}

void LinkedAccess::flush(const base::Deadline& deadline) {
  below_.flush(deadline);
  clock_.wait(2);
}

std::uint64_t LinkedAccess::load(int buffer, std::int64_t word) {
  clock_.book(word_message_bytes);
  const std::uint64_t value = below_.load(buffer, word);
  clock_.wait(2);
  return value;
}

void LinkedAccess::store(int buffer, std::int64_t word, std::uint64_t value) {
  clock_.book(word_message_bytes);
  below_.store(buffer, word, value);
  clock_.wait(2);
}

}  // namespace physarum::weights
