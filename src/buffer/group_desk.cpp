#include "group_desk.hpp"

#include <utility>

#include "physarum/base/contracts.hpp"

#include "physarum/storage/commit.hpp"

#include "physarum/sample/sample_file.hpp"

#include "schedule.hpp"

namespace physarum::buffer {

using exchange::Arrival;
using exchange::DeliveryOutcome;

/// Batches that are taken but not learnt from do not count at the head, but are still here: one, or
/// two if trainers take ahead.
GroupDesk::GroupDesk(ServerContext& context)
    : context_(context),
      store_(context.settings.options.capacity_groups() +
             2 * context.settings.options.rollout_batch_size) {
  if (!context.settings.resumed) return;
  for (const auto& group : context.settings.resumed->groups) {
    if (owner_of(group.id, context.settings) != context.transport.rank()) continue;
    const auto put = store_.put(group);
    base::expects(put == GroupStore::Put::stored, "a checkpoint's groups fit into the store");
  }
}

void GroupDesk::send_snapshot(std::int64_t step, BufferState state,
                              const std::vector<base::GroupId>& groups) const {
  for (const auto id : groups) {
    if (owner_of(id, context_.settings) != context_.transport.rank()) continue;
    const auto* group = store_.find(id);
    if (group == nullptr) throw base::MalformedBytes("a checkpoint wants a group that is not here");
    state.groups.push_back(*group);
  }
  exchange::send(context_.transport, context_.settings.peers.trainers.front(),
                 exchange::Snapshot{step, state.encode()});
}

void GroupDesk::deliver(WorldRank engine, sample::SampleGroup group) {
  if (owner_of(group.id, context_.settings) != context_.transport.rank())
    throw base::MalformedBytes("the group belongs to another buffer rank");
  const int me = context_.transport.rank().value();
  Arrival arrival{group.id, group.lease, engine, DeliveryOutcome::stored, {}};
  if (group.has_aborted()) {
    arrival.outcome = DeliveryOutcome::aborted;
  } else {
    for (const auto& sample : group.samples) arrival.samples.push_back(summarise(sample, me));
    const auto put = store_.put(std::move(group));
    if (put == GroupStore::Put::full) throw base::MalformedBytes("the store is full");
    if (put == GroupStore::Put::repeated) {
      arrival.outcome = DeliveryOutcome::repeated;
      arrival.samples.clear();
    }
  }
  exchange::send(context_.transport, context_.settings.peers.head(), arrival);
}

void GroupDesk::fetch(WorldRank trainer, const exchange::FetchRequest& request) {
  exchange::FetchReply reply{request.step, {}};
  const auto own = own_version(request.step, context_.settings);
  for (const auto& key : request.samples) {
    const auto* sample = store_.find(key);
    if (sample == nullptr) throw base::MalformedBytes("a sample that is not here was asked for");
    reply.samples.push_back(*sample);
    reply.samples.back()
        .top_log_probs = {};  // for readers of the file; nothing is learnt from them
    mask_older_than(reply.samples.back(), own);
  }
  exchange::send(context_.transport, trainer, reply);
}

void GroupDesk::write(const exchange::ArchiveOrder& order) const {
  const auto& settings = context_.settings;
  auto samples = store_.samples(order.groups);
  std::vector<sample::Sample> masked;
  if (const auto own = own_version(order.step, settings);
      own.valid() && order.purpose == sample::Purpose::train) {
    for (const auto* one : samples) mask_older_than(masked.emplace_back(*one), own);
    for (std::size_t i = 0; i < masked.size(); ++i) samples[i] = &masked[i];
  }
  const sample::SampleFileHeader header{order.step, order.purpose, settings.seed,
                                        settings.archive.program_version,
                                        settings.archive.configuration};
  storage::commit_file(*settings.archive.files, settings.archive.directory / order.file_name,
                       context_.buffer_group, sample::sample_format(),
                       [&](storage::File& file) { sample::write_samples(file, header, samples); });
}

}  // namespace physarum::buffer
