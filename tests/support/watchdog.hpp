#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace physarum::test {

/// A thread that ends the process with `_exit(exit_code)` when a test takes too long, naming the
/// test, the rank and the phase. It calls no MPI: the rank it watches may sit inside MPI.
class Watchdog {
 public:
  static constexpr int exit_code = 124;
  explicit Watchdog(int rank);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  Watchdog(Watchdog&&) = delete;
  Watchdog& operator=(Watchdog&&) = delete;

  void start(std::string test, double limit_s);
  void set_limit(double limit_s);
  void stop();

 private:
  void watch();
  int rank_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string test_;  ///< empty: nothing is watched
  double limit_s_ = 180;
  double started_s_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace physarum::test
