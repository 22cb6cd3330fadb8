#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>

#include "physarum/base/deadline.hpp"

#include "physarum/parallel/transfers.hpp"

#include "message_protocol.hpp"
#include "store_access.hpp"

namespace physarum::weights {

/// A buffer rank's end of the messages: answers engines from its store's memory, a turn at a time.
///
/// What it sends may be changed by trainers' puts and by folds while it is on its way, as with
/// one-sided reads; engines find out in the same way, by the words and the digests. An engine has
/// bounded room here: unanswered requests and bytes under way. One that talks nonsense, or asks and
/// then takes nothing, is refused once and not heard any more; others do not notice.
class MessageServer {
 public:
  /// `comm`'s tags are the protocol's. `memory` is held by `owner`, which is kept for ever if an
  /// engine leaves something under way.
  MessageServer(const parallel::Communicator& comm, std::span<std::byte> memory,
                std::shared_ptr<void> owner, StoreAccess& store, const MessageLimits& limits);
  ~MessageServer();
  MessageServer(const MessageServer&) = delete;
  MessageServer& operator=(const MessageServer&) = delete;

  /// One turn, which does not wait; true if it did something.
  bool serve();
  /// Waits until nothing is under way to engines that are still heard; gives up at the deadline.
  void finish(const base::Deadline& deadline);

  /// What the engine on this very rank asks for.
  void read(std::span<std::byte> to, std::uint64_t offset);
  void want_full();

  [[nodiscard]] std::int64_t dropped() const { return dropped_; }

 private:
  struct Engine {
    std::deque<WeightRequest> requests;
    std::uint64_t sent = 0;  // of the first request
    std::size_t under_way = 0;
    double last_taken_s = 0;
    bool dropped = false;
    WeightRefusal refusal;  // what MPI sends from
  };
  bool take_requests();
  void take(int peer, const WeightRequest& request, std::size_t bytes);
  bool collect();
  bool answer(int peer, Engine& engine);
  bool drop_silent();
  void drop(int peer, Engine& engine, WeightRefusal::Reason reason, const WeightRequest& request);
  [[nodiscard]] bool inside(const WeightRequest& request) const;
  [[nodiscard]] bool idle() const;
  void tick();

  std::span<std::byte> memory_;
  std::shared_ptr<void> owner_;
  StoreAccess& store_;
  MessageLimits limits_;
  int buffer_;
  parallel::Transfers transfers_;
  std::map<int, Engine> engines_;    // by rank in the pull communicator
  std::set<std::int64_t> refusals_;  // transfers that are refusals
  base::Stopwatch watch_;
  double served_s_ = 0;  // as far as this rank was there to serve
  std::int64_t dropped_ = 0;
};

}  // namespace physarum::weights
