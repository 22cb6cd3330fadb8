#include "progress.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fcntl.h>

namespace physarum::app {

std::string duration_text(double seconds) {
  const auto whole = std::lround(seconds);
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

base::Handle<TerminalTraits> open_terminal() {
  using Terminal = base::Handle<TerminalTraits>;
  if (::isatty(STDERR_FILENO) == 1) return Terminal(::dup(STDERR_FILENO));
  const char* path = std::getenv("PHYSARUM_TERMINAL");
  if (path == nullptr) return Terminal();
  Terminal named(::open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC));
  return named && ::isatty(named.get()) == 1 ? std::move(named) : Terminal();
}

ProgressLine::ProgressLine(std::string label, std::int64_t total)
    : label_(std::move(label)), total_(total), terminal_(open_terminal()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(std::int64_t done, std::string_view note) {
  if (!terminal_) return;
  const double elapsed_s = started_.seconds();
  if (last_drawn_s_ >= 0 && elapsed_s - last_drawn_s_ < 0.1 && done < total_) return;
  last_drawn_s_ = elapsed_s;
  const double rate = elapsed_s > 0 ? static_cast<double>(done) / elapsed_s : 0;
  const double left_s = rate > 0 ? static_cast<double>(total_ - done) / rate : 0;
  const int written =
      ::dprintf(terminal_.get(), "\r\033[K%s %lld/%lld  %.2f/s  %s left  %.*s", label_.c_str(),
                static_cast<long long>(done), static_cast<long long>(total_), rate,
                duration_text(left_s).c_str(), static_cast<int>(note.size()), note.data());
  // A terminal that was closed meanwhile is no reason to end the run.
  drawn_ = written > 0;
  if (written < 0) terminal_ = base::Handle<TerminalTraits>();
}

void ProgressLine::clear() {
  if (!std::exchange(drawn_, false)) return;
  (void)::dprintf(terminal_.get(), "\r\033[K");
}

}  // namespace physarum::app
