#include <algorithm>
#include <numeric>

// The extensions need mpi.h first.
// clang-format off
#include <mpi.h>
#include <mpi-ext.h>
// clang-format on

#include "physarum/parallel/error.hpp"

#include "peers.hpp"

namespace physarum::parallel {

namespace {
std::vector<int> ranks_of(MPI_Group dead, MPI_Comm comm) {
  int count = 0;
  MPI_Group_size(dead, &count);
  std::vector<int> inside(static_cast<std::size_t>(count));
  std::iota(inside.begin(), inside.end(), 0);
  std::vector<int> ranks(inside.size());
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &all);
  MPI_Group_translate_ranks(dead, count, inside.data(), all, ranks.data());
  MPI_Group_free(&all);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}
}  // namespace

bool can_lose_peers() noexcept { return true; }

bool means_lost_peer(int error_class) noexcept {
  return error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_PROC_FAILED_PENDING ||
         error_class == MPIX_ERR_REVOKED;
}

// Errors are ignored here: this runs while reporting one, and an empty answer is a valid answer.
std::vector<int> find_lost_peers(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return {};
  MPI_Group dead = MPI_GROUP_NULL;
  if (MPIX_Comm_get_failed(comm, &dead) != MPI_SUCCESS || dead == MPI_GROUP_NULL) return {};
  int count = 0;
  MPI_Group_size(dead, &count);
  std::vector<int> ranks;
  if (count > 0) {
    int acknowledged = 0;
    MPIX_Comm_ack_failed(comm, count, &acknowledged);
    ranks = ranks_of(dead, comm);
  }
  if (dead != MPI_GROUP_EMPTY) MPI_Group_free(&dead);
  return ranks;
}

}  // namespace physarum::parallel
