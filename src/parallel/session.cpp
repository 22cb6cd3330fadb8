#include "physarum/parallel/session.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

#include <mpi.h>
#include <unistd.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

#include "communicator_impl.hpp"
#include "handles.hpp"

namespace physarum::parallel {

namespace {
enum class State { none, alive, failed, finished };
std::atomic<State> state{State::none};

/// The rank that a launcher announces; null if nobody launched us.
const char* announced_rank_text() noexcept {
  for (const char* name : {"PMIX_RANK", "SLURM_PROCID"}) {
    const char* text = std::getenv(name);
    if (text != nullptr) return text;
  }
  return nullptr;
}

void start_mpi(int& argc, char**& argv) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  base::expects(state == State::none && initialized == 0, "one MPI session per process");
  // A peer that dies while we write to its socket must become an error, not our death.
  std::signal(SIGPIPE, SIG_IGN);
  // One process needs no network, and Open MPI's UCX parts complain where there is none.
  if (announced_rank_text() == nullptr) {
    for (const char* part : {"OMPI_MCA_osc", "OMPI_MCA_pml"}) ::setenv(part, "^ucx", 0);
  }
  int provided = 0;
  check(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_SERIALIZED) {
    throw base::WorldError("MPI_Init_thread", provided,
                           "this MPI library does not offer MPI_THREAD_SERIALIZED");
  }
  for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  check(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN), "MPI_File_set_errhandler");
  state = State::alive;
}

Communicator make_world() {
  MPI_Comm made = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &made), "MPI_Comm_dup");
  return Communicator(std::make_unique<Communicator::Impl>(made, "world", 600));
}

void flush_streams() noexcept {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}
}  // namespace

bool session_alive() noexcept { return state == State::alive; }

int announced_rank() noexcept {
  const char* text = announced_rank_text();
  return text == nullptr ? 0 : std::atoi(text);
}

bool may_release_collectively() noexcept {
  return session_alive() && std::uncaught_exceptions() == 0;
}

void mark_session_failed() noexcept {
  if (state == State::alive) state = State::failed;
}

Session::Session(int& argc, char**& argv) {
  start_mpi(argc, argv);
  world_ = make_world();
}

Session::~Session() {
  if (!may_release_collectively()) return;
  try {
    finish();
  } catch (const std::exception& error) {
    base::log_error(error.what());
  }
}

void Session::finish() {
  if (!session_alive()) return;
  world_.close();
  state = State::finished;
  check(MPI_Finalize(), "MPI_Finalize");
}

void leave(int code) noexcept {
  flush_streams();
  _exit(code);
}

void abort_job(int code) noexcept {
  flush_streams();
  if (state == State::alive || state == State::failed) MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

}  // namespace physarum::parallel
