#pragma once

#include <string>

#include <mpi.h>

#include "physarum/parallel/communicator.hpp"

#include "handles.hpp"

namespace physarum::parallel {

struct Communicator::Impl {
  CommunicatorHandle handle;
  int rank = 0;
  int size = 1;
  std::string name;
  double patience_s = 600;
  mutable bool broken = false;  ///< an operation failed and may still be pending

  Impl(MPI_Comm comm, std::string_view name_of_it, double patience);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  Impl(Impl&&) = delete;
  Impl& operator=(Impl&&) = delete;

  [[nodiscard]] CallOwner owner() const { return {handle.get(), name}; }
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] base::Deadline deadline(const Until& until) const {
    return until ? *until : base::Deadline::in(patience_s);
  }
};

/// Internal tags on a communicator; mailboxes have communicators of their own.
enum CollectiveTag : int { tag_scatter = 32001, tag_collect = 32002, tag_gather = 32003 };

}  // namespace physarum::parallel
