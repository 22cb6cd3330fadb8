#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <sched.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"
#include "physarum/base/narrow.hpp"

#include "physarum/parallel/wait.hpp"

#include "pieces.hpp"
#include "window_impl.hpp"

namespace physarum::parallel {

using base::narrow;

namespace {
// Short transfers have no request: a flush completes them at once, and there may be thousands.
constexpr std::size_t long_transfer_bytes = 64UL << 10;
// Between processes of one machine MPI carries a transfer in small messages, and both sides must
// call it for each: a wait that sleeps between two looks takes 2.4 times as long. Whatever has not
// come after this time comes from further away, or from a rank that is busy.
constexpr double lively_s = 10e-3;

MPI_Aint place(std::uint64_t offset) { return narrow<MPI_Aint>(offset); }
}  // namespace

void Window::Impl::check_range(int target, std::uint64_t offset, std::uint64_t bytes) const {
  base::expects(target >= 0 && target < narrow<int>(sizes.size()),
                "the target is a rank of the window");
  const std::uint64_t size = sizes[static_cast<std::size_t>(target)];
  base::expects(offset <= size && bytes <= size - offset, "the transfer lies in the window");
}

void Window::Impl::wait_transfers(int target, const base::Deadline& deadline) {
  auto& requests = under_way[target];
  const auto done = [&] {
    int flag = 0;
    check(MPI_Testall(narrow<int>(requests.size()), requests.data(), &flag, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    return flag != 0;
  };
  const base::Stopwatch watch;
  const auto stay_awake = [&] {
    if (watch.seconds() > lively_s) return false;
    sched_yield();
    return true;
  };
  if (!wait_until(done, deadline, stay_awake)) {
    mark_session_failed();
    throw_deadline(comm.describe(), "transfers to or from rank " + std::to_string(target),
                   deadline);
  }
  requests.clear();
}

/// A copy between processes is no MPI call, in which others could get on.
void Window::Impl::finish_reads() {
  if (!std::exchange(read_since_flush, false)) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  serve_hooks();
}

Epoch::Epoch(Window& window) : window_(*window.impl_) {
  base::expects(!window_.epoch_open, "a window has one epoch at a time");
  if (!window_.alone()) {
    // Nobody ever takes an exclusive lock, so there is nothing to check.
    window_.check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_.handle.get()), "MPI_Win_lock_all");
  }
  window_.epoch_open = true;
}

Epoch::~Epoch() {
  window_.epoch_open = false;
  if (window_.alone() || !may_release_collectively()) return;
  const int code = MPI_Win_unlock_all(window_.handle.get());
  if (code != MPI_SUCCESS) base::log_warning("MPI_Win_unlock_all: " + error_text(code));
}

void Epoch::put(std::span<const std::byte> from, int target, std::uint64_t offset) {
  window_.check_range(target, offset, from.size());
  if (window_.alone()) {
    if (!from.empty()) std::memmove(window_.local(offset), from.data(), from.size());
    return;
  }
  for_each_piece(from.size(), piece_limit(), [&](std::size_t begin, std::size_t bytes) {
    const int count = narrow<int>(bytes);
    const MPI_Aint at = place(offset + begin);
    if (bytes < long_transfer_bytes) {
      window_.check(MPI_Put(from.data() + begin, count, MPI_BYTE, target, at, count, MPI_BYTE,
                            window_.handle.get()),
                    "MPI_Put");
      return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    window_.check(MPI_Rput(from.data() + begin, count, MPI_BYTE, target, at, count, MPI_BYTE,
                           window_.handle.get(), &request),
                  "MPI_Rput");
    window_.under_way[target].push_back(request);
  });
}

void Epoch::get(std::span<std::byte> to, int target, std::uint64_t offset) {
  window_.check_range(target, offset, to.size());
  if (window_.alone()) {
    if (!to.empty()) std::memmove(to.data(), window_.local(offset), to.size());
    return;
  }
  if (window_.neighbours.have(target)) {
    window_.neighbours.read(to, target, offset);
    window_.read_since_flush = true;
    return;
  }
  for_each_piece(to.size(), piece_limit(), [&](std::size_t begin, std::size_t bytes) {
    const int count = narrow<int>(bytes);
    const MPI_Aint at = place(offset + begin);
    if (bytes < long_transfer_bytes) {
      window_.check(MPI_Get(to.data() + begin, count, MPI_BYTE, target, at, count, MPI_BYTE,
                            window_.handle.get()),
                    "MPI_Get");
      return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    window_.check(MPI_Rget(to.data() + begin, count, MPI_BYTE, target, at, count, MPI_BYTE,
                           window_.handle.get(), &request),
                  "MPI_Rget");
    window_.under_way[target].push_back(request);
  });
}

void Epoch::flush(int target, const base::Deadline& deadline) {
  window_.check_range(target, 0, 0);
  if (window_.alone()) return;
  window_.finish_reads();
  window_.wait_transfers(target, deadline);
  window_.check(MPI_Win_flush(target, window_.handle.get()), "MPI_Win_flush");
}

void Epoch::flush_all(const base::Deadline& deadline) {
  if (window_.alone()) return;
  window_.finish_reads();
  for (int target = 0; target < window_.comm.size(); ++target) {
    window_.wait_transfers(target, deadline);
  }
  window_.check(MPI_Win_flush_all(window_.handle.get()), "MPI_Win_flush_all");
}

void Epoch::sync() {
  if (window_.alone()) return;
  window_.check(MPI_Win_sync(window_.handle.get()), "MPI_Win_sync");
}

}  // namespace physarum::parallel
