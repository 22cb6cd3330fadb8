#pragma once

#include <mpi.h>

#include "physarum/parallel/communicator.hpp"

namespace physarum::parallel {

/// The MPI communicator behind, for the room that opens parallel files; MPI_COMM_NULL for a null
/// one. Stays the property of `comm`.
[[nodiscard]] MPI_Comm native(const Communicator& comm) noexcept;

}  // namespace physarum::parallel
