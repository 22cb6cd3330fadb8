#include "progress.hpp"

#include <cstdio>
#include <utility>

#include <unistd.h>

namespace physarum::app {

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  char text[64];
  if (whole < 60) {
    std::snprintf(text, sizeof text, "%ld s", whole);
  } else if (whole < 3600) {
    std::snprintf(text, sizeof text, "%ld min %02ld s", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld h %02ld min", whole / 3600, whole / 60 % 60);
  }
  return text;
}

ProgressLine::ProgressLine(std::string label, std::int64_t total)
    : label_(std::move(label)), total_(total), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(std::int64_t done, std::string_view note) {
  if (!terminal_) return;
  const double elapsed_s = started_.seconds();
  if (last_drawn_s_ >= 0 && elapsed_s - last_drawn_s_ < 0.1 && done < total_) return;
  last_drawn_s_ = elapsed_s;
  const double rate = elapsed_s > 0 ? static_cast<double>(done) / elapsed_s : 0;
  const double left_s = rate > 0 ? static_cast<double>(total_ - done) / rate : 0;
  std::fprintf(stderr, "\r\033[K%s %lld/%lld  %.2f/s  %s left  %.*s", label_.c_str(),
               static_cast<long long>(done), static_cast<long long>(total_), rate,
               duration_text(left_s).c_str(), static_cast<int>(note.size()), note.data());
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (!std::exchange(drawn_, false)) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace physarum::app
