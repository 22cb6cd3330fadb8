#pragma once

#include <chrono>
#include <string>

namespace physarum::base {

using Clock = std::chrono::steady_clock;

/// Seconds since the program's first look at the clock; monotonic.
[[nodiscard]] double uptime_s();

/// The end of a wait. Every wait in the program takes one.
class Deadline {
 public:
  /// Ends `seconds` from now; must be finite and not negative.
  [[nodiscard]] static Deadline in(double seconds);

  [[nodiscard]] bool expired() const { return Clock::now() >= end_; }
  [[nodiscard]] double remaining_s() const;
  /// The length it was made with, for messages.
  [[nodiscard]] double length_s() const { return length_s_; }

 private:
  Deadline(Clock::time_point end, double length_s) : end_(end), length_s_(length_s) {}
  Clock::time_point end_;
  double length_s_;
};

/// Measures from its making; `restart()` returns the seconds so far and starts again.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  double restart();

 private:
  Clock::time_point start_ = Clock::now();
};

}  // namespace physarum::base
