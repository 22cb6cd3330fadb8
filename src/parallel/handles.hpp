#pragma once

#include <mpi.h>

#include "physarum/base/handle.hpp"

#include "physarum/parallel/session.hpp"

#include "mpi_check.hpp"

namespace physarum::parallel {

struct CommunicatorTraits {
  using value_type = MPI_Comm;
  static value_type null() { return MPI_COMM_NULL; }
  static constexpr auto kind = base::ReleaseKind::collective;
  static constexpr const char* name = "MPI communicator";
  static bool alive() noexcept { return session_alive(); }
  static void release(value_type value) { check(MPI_Comm_free(&value), "MPI_Comm_free"); }
};
using CommunicatorHandle = base::Handle<CommunicatorTraits>;

struct WindowTraits {
  using value_type = MPI_Win;
  static value_type null() { return MPI_WIN_NULL; }
  static constexpr auto kind = base::ReleaseKind::collective;
  static constexpr const char* name = "MPI window";
  static bool alive() noexcept { return session_alive(); }
  static void release(value_type value) { check(MPI_Win_free(&value), "MPI_Win_free"); }
};
using WindowHandle = base::Handle<WindowTraits>;

/// May a destructor enter a collective? Not while an exception unwinds, not after a failure.
[[nodiscard]] bool may_release_collectively() noexcept;

/// From now on no destructor touches MPI: something may be pending on memory that is gone.
void mark_session_failed() noexcept;

}  // namespace physarum::parallel
