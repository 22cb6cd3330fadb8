#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "physarum/base/deadline.hpp"

namespace physarum::app {

/// One line on standard error that says how far a long command is: rate and time left. On a
/// terminal it is rewritten in place; elsewhere nothing is printed until the end.
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
  bool terminal_;
  bool drawn_ = false;
  base::Stopwatch started_;
  double last_drawn_s_ = -1;
};

/// "42 s", "3 min 05 s", "2 h 07 min".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace physarum::app
