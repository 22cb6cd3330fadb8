#include "physarum/base/deadline.hpp"

#include <cmath>

#include "physarum/base/contracts.hpp"

namespace physarum::base {

double uptime_s() {
  static const Clock::time_point start = Clock::now();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Deadline Deadline::in(double seconds) {
  expects(std::isfinite(seconds) && seconds >= 0, "a deadline is finite and not negative");
  const auto length =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  return Deadline(Clock::now() + length, seconds);
}

double Deadline::remaining_s() const {
  return std::chrono::duration<double>(end_ - Clock::now()).count();
}

double Stopwatch::restart() {
  const auto now = Clock::now();
  const double result = std::chrono::duration<double>(now - start_).count();
  start_ = now;
  return result;
}

}  // namespace physarum::base
