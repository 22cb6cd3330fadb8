#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "physarum/parallel/transfers.hpp"

#include "message_protocol.hpp"
#include "message_server.hpp"
#include "store_access.hpp"

namespace physarum::weights {

/// An engine's end of the messages. What one flush() asks for is under way at the same time, as
/// far as the limits go. Neighbouring ranges travel as one.
///
/// A buffer rank that does not answer until the deadline is named in DeadlineExceeded, one that
/// refuses in WorldError; both are the end of this object's use, and of the job.
class MessageAccess final : public StoreAccess {
 public:
  /// Buffer ranks are ranks 0, 1, ... of `comm`. `own`: the end of the buffer rank that this rank
  /// is too, or null; it is served in every wait. Both outlive this.
  MessageAccess(const parallel::Communicator& comm, int buffer_ranks, MessageServer* own,
                const MessageLimits& limits);

  /// Engines do not put: a broken contract.
  void put(std::span<const std::byte> from, int buffer, std::uint64_t offset) override;
  void get(std::span<std::byte> to, int buffer, std::uint64_t offset) override;
  void flush(const base::Deadline& deadline) override;
  std::uint64_t load(int buffer, std::int64_t word) override;
  /// Only `wanted` can be set, and only to 1.
  void store(int buffer, std::int64_t word, std::uint64_t value) override;
  void sync() override {}

 private:
  struct Wish {
    WeightRequest request;
    std::span<std::byte> to;
  };
  /// With one buffer rank.
  struct Lane {
    std::deque<Wish> wishes;      // not sent yet
    std::size_t unanswered = 0;   // requests
    std::uint64_t bytes_due = 0;  // of them
  };
  struct Piece {
    int buffer;
    std::size_t bytes;
    bool is_last;  // of its request
  };
  bool turn();
  bool send_requests(int buffer);
  void send_request(int buffer, const Wish& wish);
  void note_end(const parallel::Transfers::Finished& end);
  void look_for_refusal();
  [[nodiscard]] bool idle() const;
  [[nodiscard]] std::string describe_missing() const;

  const parallel::Communicator& comm_;
  MessageServer* own_;
  MessageLimits limits_;
  std::vector<Lane> lanes_;               // by buffer rank
  std::map<std::int64_t, Piece> pieces_;  // receives, by transfer
  std::uint64_t word_ = 0;                // the answer to load() and store()
  std::deque<WeightRequest> requests_;    // MPI holds their addresses
  parallel::Transfers transfers_;         // ends before what it uses
};

}  // namespace physarum::weights
