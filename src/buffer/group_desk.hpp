#pragma once

#include <cstdint>
#include <set>

#include "physarum/exchange/messages.hpp"

#include "physarum/buffer/buffer_state.hpp"

#include "group_store.hpp"
#include "server_context.hpp"

namespace physarum::buffer {

/// A buffer rank's side towards all others: takes deliveries, serves samples, forgets what is
/// released. The head has one like every other buffer rank.
class GroupDesk {
 public:
  explicit GroupDesk(ServerContext& context);

  void deliver(WorldRank engine, sample::SampleGroup group);
  void fetch(WorldRank trainer, const exchange::FetchRequest& request);
  void release(const exchange::Release& release) { store_.release(release.groups, release.reason); }
  /// This rank's part of a checkpoint goes to the first trainer.
  void send_snapshot(std::int64_t step, BufferState state,
                     const std::vector<base::GroupId>& groups) const;
  /// Collective over the buffer group: writes those of the groups that are here.
  void write(const exchange::ArchiveOrder& order) const;

  [[nodiscard]] const GroupStore& store() const { return store_; }

 private:
  ServerContext& context_;
  GroupStore store_;
};

}  // namespace physarum::buffer
