#include "retire_desk.hpp"

#include <algorithm>
#include <utility>

#include "physarum/parallel/wait.hpp"

#include "release.hpp"

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
    if (context_.reports.file_written) {
      context_.reports.file_written(context_.settings.archive.directory /
                                    orders_.front().file_name);
    }
  }
  put_aside();
  return true;
}

void RetireDesk::put_aside() {
  auto order = std::move(orders_.front());
  orders_.pop_front();
  ordered_ = false;
  const bool waits = order.purpose != sample::Purpose::evaluate &&
                     !context_.settings.peers.trainers.empty() && order.step > learnt_;
  if (waits) {
    held_[order.step] = std::move(order.groups);
  } else {
    release_for_good(context_, std::move(order.groups));
  }
}

void RetireDesk::learnt(std::int64_t step) {
  learnt_ = std::max(learnt_, step);
  while (!held_.empty() && held_.begin()->first <= learnt_) {
    release_for_good(context_, std::move(held_.begin()->second));
    held_.erase(held_.begin());
  }
}

std::vector<base::GroupId> RetireDesk::held_from(std::int64_t step) const {
  std::vector<base::GroupId> groups;
  for (auto held = held_.lower_bound(step); held != held_.end(); ++held)
    groups.insert(groups.end(), held->second.begin(), held->second.end());
  std::ranges::sort(groups);
  return groups;
}

void RetireDesk::order_in() {
  ordered_ = true;
  for (const auto buffer : context_.settings.peers.buffers) {
    if (buffer == context_.transport.rank()) continue;
    exchange::send(context_.transport, buffer, orders_.front());
    awaited_.insert(buffer);
  }
}

std::string RetireDesk::describe() const {
  if (orders_.empty()) return "no file to write";
  return "file '" + orders_.front().file_name + "' waits for " + std::to_string(awaited_.size()) +
         " buffer ranks";
}

}  // namespace physarum::buffer
