#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "physarum/base/deadline.hpp"

#include "physarum/parallel/communicator.hpp"

namespace physarum::parallel {

/// Memory of every rank of a communicator, open to one-sided access by all of them. No rank of the
/// communicator may die while the window lives. The same memory may be exposed by two windows. On a
/// null communicator it is this rank's own memory.
///
/// Memory of another process on the same machine is read without that process or MPI, where the
/// system lets it be seen (process_vm_readv); everything else is MPI's.
class Window {
 public:
  Window() noexcept;
  /// Collective. `memory` (any size, also none; may differ by rank) must stay alive and in place
  /// until close().
  [[nodiscard]] static Window over(const Communicator& comm, std::span<std::byte> memory,
                                   std::string_view name);
  ~Window();
  Window(Window&&) noexcept;
  Window& operator=(Window&&);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  [[nodiscard]] bool valid() const noexcept { return impl_ != nullptr; }
  /// Bytes that `target` exposes.
  [[nodiscard]] std::uint64_t bytes_of(int target) const;
  /// Collective. No epoch may be open.
  void close();

  struct Impl;

 private:
  friend class Epoch;
  std::unique_ptr<Impl> impl_;
};

/// Passive access to all ranks of a window for as long as it lives (a shared lock on all; readers
/// and writers never exclude each other). Not copied, not moved; the window outlives it and may be
/// moved meanwhile. Local to this rank; at most one per window at a time.
///
/// put() and get() start transfers: their memory must stay alive and untouched until a flush() of
/// the target. Offsets and sizes are bytes, 64-bit, cut into pieces here. Beyond the target's
/// memory is a contract violation.
class Epoch {
 public:
  explicit Epoch(Window& window);
  ~Epoch();
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;
  Epoch(Epoch&&) = delete;
  Epoch& operator=(Epoch&&) = delete;

  void put(std::span<const std::byte> from, int target, std::uint64_t offset);
  void get(std::span<std::byte> to, int target, std::uint64_t offset);
  /// Waits until the transfers to `target` are complete here and there. Serves the hooks, at least
  /// once, while the transfers are under way; throws DeadlineExceeded, after which the job must
  /// end. What is read after it is not older than what was read before.
  void flush(int target, const base::Deadline& deadline);
  void flush_all(const base::Deadline& deadline);

  /// Atomic operations on a 64-bit word at an offset divisible by 8. Complete when they return;
  /// they are not ordered with put() and get() unless a flush lies between. They wait inside MPI.
  [[nodiscard]] std::uint64_t load(int target, std::uint64_t offset);
  void store(int target, std::uint64_t offset, std::uint64_t value);
  /// Returns the word before; the swap happened if that equals `expected`.
  std::uint64_t compare_and_swap(int target, std::uint64_t offset, std::uint64_t expected,
                                 std::uint64_t desired);
  std::uint64_t fetch_add(int target, std::uint64_t offset, std::uint64_t increment);

  /// Makes what peers put visible to plain loads of this rank's own memory, and plain stores of
  /// this rank visible to peers.
  void sync();

 private:
  Window::Impl& window_;
};

/// Windows that are made while it lives read by MPI alone, as between machines: for tests and
/// benchmarks whose ranks share one.
class ScopedReadsByMpi {
 public:
  ScopedReadsByMpi() noexcept;
  ~ScopedReadsByMpi();
  ScopedReadsByMpi(const ScopedReadsByMpi&) = delete;
  ScopedReadsByMpi& operator=(const ScopedReadsByMpi&) = delete;
  ScopedReadsByMpi(ScopedReadsByMpi&&) = delete;
  ScopedReadsByMpi& operator=(ScopedReadsByMpi&&) = delete;
  [[nodiscard]] static bool active() noexcept;
};

}  // namespace physarum::parallel
