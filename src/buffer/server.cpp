#include "physarum/buffer/server.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/exchange/messages.hpp"

#include "physarum/buffer/buffer_state.hpp"

#include "group_desk.hpp"
#include "head.hpp"

namespace physarum::buffer {

using exchange::Envelope;
using exchange::MessageKind;

namespace {

/// Messages per turn: a colocated rank has other things to do, too.
constexpr int most_messages = 256;

bool holds(const std::vector<WorldRank>& ranks, WorldRank rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

ServerSettings checked(ServerSettings settings) {
  const auto& peers = settings.peers;
  base::expects(!peers.buffers.empty() && peers.dp_size > 0, "there is a head and a dp size");
  base::expects(!peers.trainers.empty() || settings.initial_version ||
                    settings.purpose == sample::Purpose::supervised,
                "without trainers the initial version is given");
  const bool works = settings.num_rollout > settings.first_step || !settings.evaluations.empty();
  if (works && peers.engines.empty()) {
    throw base::UserError("there is no rollout rank to do the work", "--rollout-ranks",
                          "start with more ranks");
  }
  if (!settings.options.save_samples) settings.archive.directory.clear();
  return settings;
}

}  // namespace

struct BufferServer::Impl {
  Impl(exchange::Transport& carrier, const parallel::Communicator& group, ServerSettings wanted,
       ServerReports wanted_reports)
      : settings(checked(std::move(wanted))),
        reports(std::move(wanted_reports)),
        clock(settings.clock_s, settings.longest_turn_s),
        context{carrier, group, settings, reports, counters, attendance, clock},
        groups(context) {
    for (const auto rank : settings.peers.engines) attendance.expect({rank, Party::engine}, 0);
    for (const auto rank : settings.peers.trainers) attendance.expect({rank, Party::trainer}, 0);
    if (!context.is_head()) return;
    if (settings.resumed) counters = settings.resumed->counters;
    base::expects(settings.num_rollout <= settings.first_step || settings.prompts != nullptr,
                  "the head has prompts");
    head.emplace(context, groups);
    for (const auto rank : settings.peers.buffers)
      if (rank != carrier.rank()) attendance.expect({rank, Party::server}, 0);
  }

  bool advance();
  bool receive_all();
  void dispatch(const Envelope& envelope);
  void check_sender(const Envelope& envelope) const;
  void receive_group_message(const Envelope& envelope);
  void join_archive(const exchange::ArchiveOrder& order);
  bool lose_peers();
  bool leave();

  const ServerSettings settings;
  const ServerReports reports;
  ServerCounters counters;
  Attendance attendance;
  ServedClock clock;
  ServerContext context;
  GroupDesk groups;
  std::optional<Head> head;
  bool shut_down = false;  ///< the head said that it is over
  bool left = false;
  bool inside = false;
};

bool BufferServer::Impl::advance() {
  clock.tick();
  bool did = lose_peers();
  did = receive_all() || did;
  if (head) did = head->advance() || did;
  return leave() || did;
}

bool BufferServer::Impl::receive_all() {
  int count = 0;
  for (; count < most_messages; ++count) {
    const auto envelope = context.transport.try_receive(Party::server);
    if (!envelope) break;
    try {
      dispatch(*envelope);
    } catch (const base::MalformedBytes& error) {
      // A peer that talks nonsense is its own problem; its lease comes back by its deadline.
      ++counters.malformed_messages;
      base::log_error(std::string(name_of(envelope->kind)) + " from rank " +
                      std::to_string(envelope->peer.value()) + " dropped: " + error.what());
    }
  }
  return count > 0;
}

/// A message of a kind that its sender has no business to send is malformed.
void BufferServer::Impl::check_sender(const Envelope& envelope) const {
  const auto& peers = settings.peers;
  bool right = true;
  switch (envelope.kind) {
    case MessageKind::work_request:
    case MessageKind::delivery:
    case MessageKind::alarm:
    case MessageKind::hand_back:
      right = holds(peers.engines, envelope.peer);
      if (right && !attendance.is_present({envelope.peer, Party::engine}))
        throw base::MalformedBytes("its engine has left");
      break;
    case MessageKind::take_request:
    case MessageKind::fetched:
    case MessageKind::fetch_request:
      right = holds(peers.trainers, envelope.peer);
      break;
    case MessageKind::published:
    case MessageKind::step_report:
    case MessageKind::snapshot_request:
    case MessageKind::notice:
    case MessageKind::finish:
      right = !peers.trainers.empty() && peers.trainers.front() == envelope.peer;
      break;
    case MessageKind::arrival:
    case MessageKind::archive_ready:
      right = holds(peers.buffers, envelope.peer);
      break;
    case MessageKind::release:
    case MessageKind::archive_order:
    case MessageKind::snapshot_order:
    case MessageKind::shutdown:
      right = peers.head() == envelope.peer;
      break;
    default:
      break;
  }
  if (!right) throw base::MalformedBytes("its sender has no such role");
}

void BufferServer::Impl::dispatch(const Envelope& envelope) {
  check_sender(envelope);
  const double now = clock.served_s();
  attendance.heard({envelope.peer, Party::engine}, now);
  attendance.heard({envelope.peer, Party::trainer}, now);
  if (head && head->receive(envelope)) return;
  receive_group_message(envelope);
}

void BufferServer::Impl::receive_group_message(const Envelope& envelope) {
  const auto& bytes = envelope.bytes;
  switch (envelope.kind) {
    case MessageKind::delivery:
      return groups.deliver(envelope.peer,
                            std::move(exchange::decode<exchange::Delivery>(bytes).group));
    case MessageKind::fetch_request:
      return groups.fetch(envelope.peer, exchange::decode<exchange::FetchRequest>(bytes));
    case MessageKind::release:
      return groups.release(exchange::decode<exchange::Release>(bytes));
    case MessageKind::archive_order:
      return join_archive(exchange::decode<exchange::ArchiveOrder>(bytes));
    case MessageKind::snapshot_order: {
      const auto order = exchange::decode<exchange::SnapshotOrder>(bytes);
      return groups.send_snapshot(order.step, {}, order.groups);
    }
    case MessageKind::shutdown:
      (void)exchange::decode<exchange::Shutdown>(bytes);
      shut_down = true;
      return;
    case MessageKind::goodbye: {
      const auto role = exchange::decode<exchange::Goodbye>(bytes).role;
      if (!attendance.leave({envelope.peer, role}))
        throw base::MalformedBytes("a goodbye from someone who is not here");
      return;
    }
    default:
      throw base::MalformedBytes("it is for the head");
  }
}

void BufferServer::Impl::join_archive(const exchange::ArchiveOrder& order) {
  if (settings.archive.directory.empty())
    throw base::MalformedBytes("nothing is to be written in this run");
  exchange::send(context.transport, settings.peers.head(), exchange::ArchiveReady{order.step});
  // The head enters when it has heard so; it must hear it before this rank is busy writing.
  const auto deadline = base::Deadline::in(settings.options.patience_s());
  if (!context.transport.flush(deadline)) {
    throw base::DeadlineExceeded("buffer rank " + std::to_string(context.transport.rank().value()) +
                                 ": the head did not take a message before an archive");
  }
  groups.write(order);
}

bool BufferServer::Impl::lose_peers() {
  const auto lost = context.transport.take_lost_peers();
  for (const auto peer : lost) {
    if (holds(settings.peers.buffers, peer) || holds(settings.peers.trainers, peer)) {
      throw base::WorldError("core ranks", peer.value(),
                             "rank " + std::to_string(peer.value()) + " is lost");
    }
    if (!attendance.leave({peer, Party::engine})) continue;
    base::log_warning("engine on rank " + std::to_string(peer.value()) + " is lost");
    if (head) head->lose(peer);
  }
  return !lost.empty();
}

/// A buffer rank leaves when all clients have gone and the head says so; the head leaves last.
bool BufferServer::Impl::leave() {
  if (left || !attendance.empty()) return false;
  if (head ? !head->over() : !shut_down) return false;
  if (!head)
    exchange::send(context.transport, settings.peers.head(), exchange::Goodbye{Party::server});
  left = true;
  return true;
}

BufferServer::BufferServer(exchange::Transport& transport,
                           const parallel::Communicator& buffer_group, ServerSettings settings,
                           ServerReports reports)
    : impl_(std::make_unique<Impl>(transport, buffer_group, std::move(settings),
                                   std::move(reports))) {}

BufferServer::~BufferServer() = default;

bool BufferServer::advance() {
  // Writing an archive waits, and waits serve hooks: perhaps this very function.
  if (impl_->inside || impl_->left) return false;
  impl_->inside = true;
  struct Leave {
    bool& inside;
    ~Leave() { inside = false; }
  } leave{impl_->inside};
  return impl_->advance();
}

void BufferServer::ask_stop() {
  if (impl_->head) return impl_->head->ask_stop();
  exchange::send(impl_->context.transport, impl_->settings.peers.head(), exchange::StopRequest{});
}

bool BufferServer::finished() const { return impl_->left; }

const ServerCounters& BufferServer::counters() const { return impl_->counters; }

std::string BufferServer::describe() const {
  const std::string stored = std::to_string(impl_->groups.store().size()) + " groups here";
  return impl_->head ? impl_->head->describe() + "; " + stored : stored;
}

}  // namespace physarum::buffer
