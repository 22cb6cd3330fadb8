#include "physarum/parallel/mailbox.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/parallel/wait.hpp"

#include "mailbox_impl.hpp"
#include "requests.hpp"

namespace physarum::parallel {

Mailbox::Mailbox(const Communicator& comm, const MailboxOptions& options)
    : impl_(std::make_unique<Impl>(comm, options)) {
  base::expects(options.capacity_messages > 0 && options.piece_bytes > 0,
                "capacities are positive");
}

Mailbox::~Mailbox() {
  if (!impl_ || (impl_->outgoing.empty() && impl_->incoming.empty())) return;
  // Only after a failure or by our own mistake: MPI still uses the buffers.
  base::log_debug("a mailbox ends with messages under way");
  mark_session_failed();
  for (auto& mail : impl_->incoming) keep_forever(std::move(mail.bytes));
  abandoned_mail().splice(abandoned_mail().end(), impl_->outgoing);
}

Mailbox::Mailbox(Mailbox&&) noexcept = default;

int Mailbox::rank() const noexcept { return impl_->comm.rank(); }
int Mailbox::size() const noexcept { return impl_->comm.size(); }
std::size_t Mailbox::pending() const noexcept { return impl_->outgoing.size(); }
bool Mailbox::is_lost(int peer) const { return impl_->lost.contains(peer); }
std::vector<int> Mailbox::take_lost_peers() {
  auto found = std::exchange(impl_->newly_lost, {});
  std::sort(found.begin(), found.end());
  return found;
}

SendResult Mailbox::send(int peer, int tag, Bytes&& bytes) {
  base::expects(peer >= 0 && peer < size(), "the peer is a rank of the mailbox");
  base::expects(tag >= 0 && tag <= last_user_tag, "the tag is in range");
  auto& box = *impl_;
  if (peer == rank()) {
    box.inbox.push_back({peer, tag, std::move(bytes)});
    return SendResult::sent;
  }
  if (!box.has_room(bytes.size())) box.advance_sends();
  if (box.lost.contains(peer)) return SendResult::peer_lost;
  if (!box.has_room(bytes.size())) return SendResult::full;
  box.pending_bytes += bytes.size();
  auto& mail = box.outgoing.emplace_back();
  mail.peer = peer;
  mail.head = {tag, bytes.size()};
  mail.bytes = std::move(bytes);
  box.post(mail);
  return box.lost.contains(peer) ? SendResult::peer_lost : SendResult::sent;
}

std::optional<Message> Mailbox::try_receive() {
  advance();
  if (impl_->inbox.empty()) return std::nullopt;
  Message message = std::move(impl_->inbox.front());
  impl_->inbox.pop_front();
  return message;
}

bool Mailbox::advance() {
  auto& box = *impl_;
  if (box.alone()) return false;
  const bool sent = box.advance_sends();
  const bool started = box.accept_new();
  const bool received = box.advance_receives();
  return sent || started || received;
}

bool Mailbox::flush(const base::Deadline& deadline) {
  return wait_until(
      [this] {
        advance();
        return pending() == 0;
      },
      deadline);
}

void Mailbox::close() {
  if (!impl_) return;
  auto& box = *impl_;
  base::expects(box.outgoing.empty(), "a mailbox is flushed before it is closed");
  box.comm.barrier();
  if (!box.inbox.empty() || !box.incoming.empty()) {
    base::log_warning("a mailbox was closed with messages that nobody read");
  }
  box.comm.close();
  impl_.reset();
}

}  // namespace physarum::parallel
