#include "physarum/exchange/transport.hpp"

#include <string>
#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/parallel/wait.hpp"

namespace physarum::exchange {

namespace {
[[noreturn]] void throw_overrun(const char* what, WorldRank rank) {
  throw base::WorldError("message queue", rank.value(),
                         std::string(what) + " exceed the limit of the protocol");
}
}  // namespace

void Transport::send(WorldRank peer, MessageKind kind, Bytes bytes) {
  base::expects(peer.value() >= 0 && peer.value() < size(), "the peer is a rank of the world");
  const int tag = static_cast<int>(kind);
  // Behind others that wait, or else a later message could overtake an earlier one.
  if (drain() && carry(peer.value(), tag, bytes) == Carried::taken) return;
  if (waiting_.size() >= queue_limit) throw_overrun("messages that wait to be sent", peer);
  waiting_.push_back({peer.value(), tag, std::move(bytes)});
}

bool Transport::drain() {
  while (!waiting_.empty()) {
    auto& first = waiting_.front();
    if (carry(first.peer, first.tag, first.bytes) == Carried::full) return false;
    waiting_.pop_front();
  }
  return true;
}

std::optional<Envelope> Transport::try_receive(Party party) {
  drain();
  auto& inbox = inboxes_[static_cast<std::size_t>(party)];
  if (inbox.empty()) sort_in();
  if (inbox.empty()) return {};
  Envelope envelope = std::move(inbox.front());
  inbox.pop_front();
  return envelope;
}

void Transport::sort_in() {
  while (auto raw = next()) {
    if (!is_message_kind(raw->tag)) {
      ++foreign_;
      continue;
    }
    const auto kind = static_cast<MessageKind>(raw->tag);
    auto& inbox = inboxes_[static_cast<std::size_t>(party_of(kind))];
    if (inbox.size() >= queue_limit)
      throw_overrun("messages that nobody has read", WorldRank(raw->peer));
    inbox.push_back({WorldRank(raw->peer), kind, std::move(raw->bytes)});
  }
}

bool Transport::flush(const base::Deadline& deadline) {
  return parallel::wait_until([this] { return drain(); }, deadline);
}

}  // namespace physarum::exchange
