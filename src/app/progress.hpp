#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <unistd.h>

#include "physarum/base/deadline.hpp"
#include "physarum/base/handle.hpp"

namespace physarum::app {

struct TerminalTraits {
  using value_type = int;
  static constexpr base::ReleaseKind kind = base::ReleaseKind::local;
  static constexpr const char* name = "terminal";
  static value_type null() { return -1; }
  static bool alive() noexcept { return true; }
  static void release(value_type fd) { ::close(fd); }
};

/// The terminal to draw on: standard error if it is one; else the one that the launcher names in
/// PHYSARUM_TERMINAL (under mpirun every rank's standard error is a pipe); else none.
[[nodiscard]] base::Handle<TerminalTraits> open_terminal();

/// One line that says how far a long command is: rate and time left. On a terminal it is rewritten
/// in place; without one nothing is printed.
class ProgressLine {
 public:
  ProgressLine(std::string label, std::int64_t total);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ProgressLine(ProgressLine&&) = delete;
  ProgressLine& operator=(ProgressLine&&) = delete;

  /// `done` of the total; `note` follows the rate. Rewrites at most ten times a second.
  void update(std::int64_t done, std::string_view note);
  /// Clears the line, so that something else can be printed.
  void clear();

 private:
  std::string label_;
  std::int64_t total_;
  base::Handle<TerminalTraits> terminal_;
  bool drawn_ = false;
  base::Stopwatch started_;
  double last_drawn_s_ = -1;
};

/// "42 s", "3 min 05 s", "2 h 07 min".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace physarum::app
