#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "physarum/base/bytes.hpp"
#include "physarum/base/deadline.hpp"

#include "physarum/parallel/communicator.hpp"

namespace physarum::parallel {

struct Message {
  int peer = -1;  ///< who sent it: rank in the mailbox's communicator
  int tag = 0;
  Bytes bytes;
};

struct MailboxOptions {
  std::size_t capacity_messages = 4096;  ///< sends that may be pending at a time
  std::size_t capacity_bytes = std::size_t{1} << 30;
  std::size_t piece_bytes = std::size_t{1} << 29;  ///< longer messages travel in pieces
};

enum class SendResult {
  sent,       ///< accepted; the mailbox owns the bytes until they are delivered
  full,       ///< too much is pending: the bytes are still the caller's; advance() and try again
  peer_lost,  ///< the peer died; the bytes were dropped
};

/// Point-to-point messages between the ranks of a communicator (world: rank ids are peer
/// addresses). Nothing here waits except flush() and close(). Messages of one sender arrive in its
/// order; a rank may send to itself; any length. On a null communicator only rank 0 exists.
/// Messages move only while their ranks call into it: role loops call try_receive() each turn.
class Mailbox {
 public:
  /// Collective over `comm`, which it duplicates.
  explicit Mailbox(const Communicator& comm, const MailboxOptions& options = {});
  ~Mailbox();
  Mailbox(Mailbox&&) noexcept;
  Mailbox& operator=(Mailbox&&) = delete;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;

  /// Does not wait. `tag` is 0 to 30000. Moves the bytes only if the result is `sent`.
  [[nodiscard]] SendResult send(int peer, int tag, Bytes&& bytes);
  /// Does not wait. The next complete message, if any.
  [[nodiscard]] std::optional<Message> try_receive();
  /// Moves what is under way; true if something was completed. try_receive() does it too.
  bool advance();

  /// Sends that are not delivered to MPI's peer yet.
  [[nodiscard]] std::size_t pending() const noexcept;
  /// Waits until nothing is pending; what arrives meanwhile is kept for try_receive(). False: the
  /// deadline came first.
  [[nodiscard]] bool flush(const base::Deadline& deadline);

  /// Peers found dead since the last call, in rank order (never any without ULFM).
  [[nodiscard]] std::vector<int> take_lost_peers();
  [[nodiscard]] bool is_lost(int peer) const;

  /// Collective over the communicator. Everything must have been flushed and received.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::parallel
