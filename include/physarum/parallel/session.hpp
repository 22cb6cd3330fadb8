#pragma once

#include "physarum/parallel/communicator.hpp"

namespace physarum::parallel {

/// The process's MPI. Made first in main(), outlives every other object of this room. One per
/// process. Asks for MPI_THREAD_SERIALIZED, ignores SIGPIPE, makes errors return. Works without a
/// launcher too: then the world has one rank.
///
/// The destructor finalizes MPI (Collective over the world) if nothing failed and nothing unwinds;
/// otherwise it leaves MPI alone and the caller must end with leave() or abort_job().
class Session {
 public:
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  [[nodiscard]] Communicator& world() noexcept { return world_; }

  /// Collective over the world: finalizes MPI. Call it once, at the normal end, with every
  /// communicator, window and parallel file closed.
  void finish();

 private:
  Communicator world_;
};

/// This process's rank as mpirun (PMIX_RANK) or srun (SLURM_PROCID) announce it in the environment,
/// before MPI has started; 0 without a launcher. Only for deciding who prints.
[[nodiscard]] int announced_rank() noexcept;

/// True between the session's start and its end.
[[nodiscard]] bool session_alive() noexcept;

/// After a failure: flushes the standard streams and ends this process at once with `code`, without
/// finalizing MPI (which hangs once a peer is gone) and without running destructors.
[[noreturn]] void leave(int code) noexcept;

/// Ends all ranks; the launcher returns `code`. The caller has printed its one line before. Any
/// thread; works without a session too (then it is leave()).
[[noreturn]] void abort_job(int code) noexcept;

}  // namespace physarum::parallel
