#pragma once

#include <map>
#include <vector>

#include <mpi.h>

#include "physarum/parallel/window.hpp"

#include "communicator_impl.hpp"
#include "neighbours.hpp"

namespace physarum::parallel {

struct Window::Impl {
  Communicator comm;  ///< its own, for barriers and messages; null: memory of this rank alone
  WindowHandle handle;
  std::span<std::byte> memory;
  std::vector<std::uint64_t> sizes;  ///< by rank
  std::string name;
  bool epoch_open = false;
  std::map<int, std::vector<MPI_Request>> under_way;  ///< long transfers by target
  Neighbours neighbours;                              ///< whose memory is read without MPI
  bool read_since_flush = false;                      ///< from a neighbour

  ~Impl();
  [[nodiscard]] bool alone() const { return !comm.valid(); }
  [[nodiscard]] CallOwner owner() const { return {MPI_COMM_NULL, name}; }
  void check(int code, const char* call,
             const base::SourceLocation& where = base::SourceLocation::current()) const {
    parallel::check(code, call, owner(), where);
  }
  void check_range(int target, std::uint64_t offset, std::uint64_t bytes) const;
  void wait_transfers(int target, const base::Deadline& deadline);
  void finish_reads();
  [[nodiscard]] std::byte* local(std::uint64_t offset) const { return memory.data() + offset; }
};

}  // namespace physarum::parallel
