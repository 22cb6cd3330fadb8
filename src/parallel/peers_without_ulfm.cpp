#include "physarum/parallel/error.hpp"

#include "peers.hpp"

namespace physarum::parallel {

// Without ULFM the launcher ends the job when a rank dies: there is never a survivor to ask.

bool can_lose_peers() noexcept { return false; }

bool means_lost_peer(int) noexcept { return false; }

std::vector<int> find_lost_peers(MPI_Comm) { return {}; }

}  // namespace physarum::parallel
