#pragma once

#include <algorithm>
#include <functional>
#include <utility>

namespace physarum::buffer {

/// Time as far as the server was there to serve: a turn counts at most `longest_turn_s`. Deadlines
/// of others run on it, so that a server which was kept away (a colocated training step, a slow
/// disk) blames nobody for what it did not hear meanwhile.
class ServedClock {
 public:
  ServedClock(std::function<double()> clock_s, double longest_turn_s)
      : clock_s_(std::move(clock_s)), longest_turn_s_(longest_turn_s), last_s_(clock_s_()) {}

  /// Call it once a turn.
  void tick() {
    const double now = clock_s_();
    served_s_ += std::clamp(now - last_s_, 0.0, longest_turn_s_);
    last_s_ = now;
  }
  [[nodiscard]] double served_s() const { return served_s_; }
  /// The real time of this turn, for metrics.
  [[nodiscard]] double now_s() const { return last_s_; }

 private:
  std::function<double()> clock_s_;
  double longest_turn_s_;
  double last_s_;
  double served_s_ = 0;
};

}  // namespace physarum::buffer
