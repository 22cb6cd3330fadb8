#pragma once

#include <vector>

#include <mpi.h>

namespace physarum::parallel {

// Two files have these functions: peers_with_ulfm.cpp and peers_without_ulfm.cpp; the build takes
// one of them (cmake/room.cmake).

/// Does this error class say that a member of the communicator is dead, or that it was revoked?
[[nodiscard]] bool means_lost_peer(int error_class) noexcept;

/// Ranks of `comm` that are known to be dead, ascending, and acknowledged from now on: receives
/// from any rank work again among the living.
[[nodiscard]] std::vector<int> find_lost_peers(MPI_Comm comm);

}  // namespace physarum::parallel
