#include "retire_desk.hpp"

#include <utility>

#include "physarum/parallel/wait.hpp"

namespace physarum::buffer {

void RetireDesk::retire(std::int64_t step, sample::Purpose purpose, std::string file_name,
                        std::vector<base::GroupId> groups) {
  orders_.push_back({step, purpose, std::move(file_name), std::move(groups)});
}

void RetireDesk::ready(WorldRank buffer, std::int64_t step) {
  if (!ordered_ || orders_.front().step != step || awaited_.erase(buffer) == 0)
    throw base::MalformedBytes("a rank is ready for a file that is not being written");
}

bool RetireDesk::advance() {
  if (orders_.empty()) return false;
  const bool to_file = !context_.settings.archive.directory.empty();
  if (to_file && !ordered_) order_in();
  if (!awaited_.empty()) return false;
  if (to_file) {
    const parallel::Phase phase("write samples");
    groups_.write(orders_.front());
  }
  release();
  return true;
}

void RetireDesk::order_in() {
  ordered_ = true;
  for (const auto buffer : context_.settings.peers.buffers) {
    if (buffer == context_.transport.rank()) continue;
    exchange::send(context_.transport, buffer, orders_.front());
    awaited_.insert(buffer);
  }
}

/// Everywhere, not only at the owners: then every rank remembers one interval instead of its parts.
void RetireDesk::release() {
  const exchange::Release release{exchange::ReleaseReason::done, std::move(orders_.front().groups)};
  for (const auto buffer : context_.settings.peers.buffers)
    exchange::send(context_.transport, buffer, release);
  orders_.pop_front();
  ordered_ = false;
}

std::string RetireDesk::describe() const {
  if (orders_.empty()) return "no file to write";
  return "file '" + orders_.front().file_name + "' waits for " + std::to_string(awaited_.size()) +
         " buffer ranks";
}

}  // namespace physarum::buffer
