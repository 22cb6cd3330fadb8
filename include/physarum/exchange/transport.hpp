#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "physarum/base/bytes.hpp"
#include "physarum/base/deadline.hpp"
#include "physarum/base/ids.hpp"

#include "physarum/exchange/message_kind.hpp"

namespace physarum::exchange {

using base::Bytes;
using base::WorldRank;

struct Envelope {
  WorldRank peer;  ///< who sent it
  MessageKind kind = MessageKind::work_request;
  Bytes bytes;
};

/// Carries messages between world ranks. One per process, shared by its parties (server, engine,
/// trainer); one thread uses it. Messages of one sender to one party arrive in order; a rank may
/// send to itself. Nothing waits except flush() and close().
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  Transport(Transport&&) = delete;
  Transport& operator=(Transport&&) = delete;

  [[nodiscard]] virtual WorldRank rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  /// Takes the message; keeps it while the carrier is full. Throws WorldError if more than
  /// `queue_limit` messages wait: the protocol bounds them, so that is a peer gone wild.
  void send(WorldRank peer, MessageKind kind, Bytes bytes);
  /// The next message for `party`, if any has come. Messages for others are kept for them.
  [[nodiscard]] std::optional<Envelope> try_receive(Party party);
  /// Peers found dead since the last call (only with ULFM). The server calls it.
  [[nodiscard]] virtual std::vector<WorldRank> take_lost_peers() { return {}; }

  /// Waits until everything sent is delivered. False: the deadline came first.
  [[nodiscard]] virtual bool flush(const base::Deadline& deadline);
  /// Collective over all ranks. Call it after every party is finished and flush().
  virtual void close() {}

  /// Messages with a tag that is no kind, dropped.
  [[nodiscard]] std::int64_t foreign_messages() const { return foreign_; }

  static constexpr std::size_t queue_limit = 1 << 16;

 protected:
  struct Raw {
    int peer = -1;
    int tag = 0;
    Bytes bytes;
  };
  enum class Carried : std::uint8_t { taken, full };
  /// Moves the bytes only if `taken`; messages to dead peers are dropped and `taken`.
  [[nodiscard]] virtual Carried carry(int peer, int tag, Bytes& bytes) = 0;
  [[nodiscard]] virtual std::optional<Raw> next() = 0;
  /// Hands waiting messages to the carrier; true if none waits any more.
  bool drain();

 private:
  void sort_in();
  struct Waiting {
    int peer;
    int tag;
    Bytes bytes;
  };
  std::deque<Waiting> waiting_;
  std::array<std::deque<Envelope>, 3> inboxes_;
  std::int64_t foreign_ = 0;
};

}  // namespace physarum::exchange
