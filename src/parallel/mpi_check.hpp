#pragma once

#include <string>
#include <string_view>

#include <mpi.h>

#include "physarum/base/source_location.hpp"

namespace physarum::parallel {

/// Who made the call: named in messages, and where dead members are looked up.
struct CallOwner {
  MPI_Comm comm = MPI_COMM_NULL;
  std::string_view name = "MPI";
};

[[nodiscard]] std::string error_text(int code);
[[nodiscard]] int error_class(int code) noexcept;

/// Throws PeerLost or WorldError unless `code` is success.
void check(int code, const char* call, const CallOwner& owner = {},
           const base::SourceLocation& where = base::SourceLocation::current());

}  // namespace physarum::parallel
