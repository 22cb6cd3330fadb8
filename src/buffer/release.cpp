#include "release.hpp"

#include <utility>

#include "physarum/exchange/messages.hpp"

namespace physarum::buffer {

void release_for_good(const ServerContext& context, std::vector<base::GroupId> groups) {
  if (groups.empty()) return;
  const exchange::Release release{exchange::ReleaseReason::done, std::move(groups)};
  for (const auto buffer : context.settings.peers.buffers)
    exchange::send(context.transport, buffer, release);
}

}  // namespace physarum::buffer
