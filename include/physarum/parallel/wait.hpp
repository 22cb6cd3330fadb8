#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "physarum/base/deadline.hpp"

namespace physarum::parallel {

/// What a rank does between two looks at something it waits for. Several ranks may share a core:
/// first it only looks again, then it gives the core away, then it sleeps, at most 100 µs at a time
/// (a longer sleep would starve peers that need this rank's MPI progress). Role loops call pause()
/// when a turn did nothing and reset() when it did something.
class Backoff {
 public:
  void pause();
  void reset() { turns_ = 0; }

 private:
  std::int64_t turns_ = 0;
};

/// Names what this rank is doing, for messages of expired waits and for the watchdog. Nests. The
/// name must be a literal. One thread per rank (the one that owns MPI) makes phases.
class Phase {
 public:
  explicit Phase(const char* literal) noexcept;
  ~Phase();
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
  Phase(Phase&&) = delete;
  Phase& operator=(Phase&&) = delete;
  /// The innermost phase, "start" if none. Any thread.
  [[nodiscard]] static const char* current() noexcept;

 private:
  const char* outer_;
};

/// Registers, while it lives, what else this rank must serve while it waits (a colocated buffer).
/// Every bounded wait calls all hooks between its looks; never from inside a hook, so a hook may
/// itself wait. A hook returns true if it did something. What it throws ends the wait.
class ProgressHook {
 public:
  explicit ProgressHook(std::function<bool()> serve);
  ~ProgressHook();
  ProgressHook(const ProgressHook&) = delete;
  ProgressHook& operator=(const ProgressHook&) = delete;
  ProgressHook(ProgressHook&&) = delete;
  ProgressHook& operator=(ProgressHook&&) = delete;

 private:
  std::int64_t key_;
};

/// Calls the hooks once, unless called from inside one; true if any did something. Role loops that
/// do not wait (a decode loop) call it once a turn.
bool serve_hooks();

/// Waits until `ready` is true, yielding and serving the hooks. False: the deadline came first.
[[nodiscard]] bool wait_until(const std::function<bool()>& ready, const base::Deadline& deadline);

/// The same for a rank that has other work, too: `turn` does one turn of it between the looks, true
/// if it did something.
[[nodiscard]] bool wait_until(const std::function<bool()>& ready, const base::Deadline& deadline,
                              const std::function<bool()>& turn);

/// "rank 3 of 4 in 'trainer', phase 'publish': waited 60 s for barrier": throws DeadlineExceeded.
[[noreturn]] void throw_deadline(const std::string& owner, const std::string& awaited,
                                 const base::Deadline& deadline);

}  // namespace physarum::parallel
