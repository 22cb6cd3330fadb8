#include "broadcast_carrier.hpp"

#include <cstring>

namespace physarum::weights {
namespace {

VersionPart part_of(std::span<const std::byte> head) {
  VersionPart part;
  std::memcpy(&part, head.data(), sizeof part);
  return part;
}

}  // namespace

BroadcastCarrier::BroadcastCarrier(const CarrierParts& parts, std::unique_ptr<Carrier> control)
    : control_(std::move(control)), patience_s_(parts.pull.patience_s()) {
  if (parts.is_engine) {
    replica_ = std::make_unique<Replica>(parts.layout, control_->engine_access());
  }
  for (int buffer = 0; buffer < parts.layout.buffer_ranks(); ++buffer) {
    streams_.push_back(open_stream(parts, buffer));
  }
  const std::vector<std::uint8_t> engines =
      parts.pull.all_gather<std::uint8_t>(parts.is_engine ? 1 : 0);
  if (parts.store != nullptr) {
    const int me = parts.pull.rank();
    std::vector<int> ranks = {me};
    for (int rank = 0; rank < parts.pull.size(); ++rank) {
      if (rank != me && engines[static_cast<std::size_t>(rank)] != 0) ranks.push_back(rank);
    }
    sender_.emplace(parts.layout, me, parts.memory, *parts.store,
                    VersionSender::Ends{*streams_[static_cast<std::size_t>(me)], replica_.get(),
                                        std::move(ranks), patience_s_});
  }
  if (parts.is_engine) hook_.emplace([this] { return receive(); });
}

BroadcastCarrier::~BroadcastCarrier() {
  // Not closed, after a failure: MPI may write into the copy until the process ends.
  if (!streams_.empty()) (void)replica_.release();
}

/// The buffer rank is rank 0 of its stream, the engines follow in their order.
std::unique_ptr<parallel::BroadcastStream> BroadcastCarrier::open_stream(const CarrierParts& parts,
                                                                         int buffer) {
  const int me = parts.pull.rank();
  const bool member = me == buffer || parts.is_engine;
  auto comm = parts.pull.split(member ? 0 : -1, me == buffer ? 0 : me + 1,
                               "weights from buffer rank " + std::to_string(buffer));
  if (!member) return nullptr;
  parallel::BroadcastReceiver receiver;
  if (me != buffer) {
    receiver.place = [this, buffer](std::span<const std::byte> head, std::size_t bytes) {
      return replica_->place(buffer, part_of(head), bytes);
    };
    receiver.complete = [this, buffer](std::span<const std::byte> head) {
      replica_->complete(buffer, part_of(head));
    };
  }
  return std::make_unique<parallel::BroadcastStream>(
      std::move(comm), parallel::BroadcastOptions{.head_bytes = sizeof(VersionPart)},
      std::move(receiver));
}

bool BroadcastCarrier::receive() {
  bool any = false;
  for (const auto& stream : streams_) any = (!stream->is_root() && stream->advance()) || any;
  return replica_->fold() || any;
}

bool BroadcastCarrier::serve() {
  const bool controlled = control_->serve();
  return sender_->advance() || controlled;
}

bool BroadcastCarrier::may_fold(base::WeightVersion version) const {
  return sender_->has_sent(version);
}

void BroadcastCarrier::close() {
  hook_.reset();
  for (const auto& stream : streams_) {
    if (stream) stream->close(base::Deadline::in(patience_s_));
  }
  sender_.reset();
  streams_.clear();
  control_->close();
}

}  // namespace physarum::weights
