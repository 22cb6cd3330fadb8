#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "physarum/parallel/communicator.hpp"

namespace physarum::parallel {

/// Point-to-point transfers straight from and into memory of the caller, for bytes that are too
/// many to be copied into a mailbox. Nothing here waits. Messages of one sender with one tag arrive
/// in its order. One thread. A rank has no transfers with itself, a null communicator none at all.
class Transfers {
 public:
  enum class Outcome { done, peer_lost };
  struct Finished {
    std::int64_t id = 0;
    int peer = -1;
    std::size_t bytes = 0;  ///< moved; of a receive: may be fewer than there was room for
    Outcome outcome = Outcome::done;
  };
  /// A short message as it was found; if `bytes` is more than there was room for, it was dropped.
  struct Arrival {
    int peer = -1;
    std::size_t bytes = 0;
  };

  /// Does not communicate. `comm` must outlive it; its tags belong to the users of such objects.
  explicit Transfers(const Communicator& comm);
  /// Withdraws receives to which nothing has come. What else is pending is a failure: MPI may go on
  /// using its memory, so the session will not be ended in an orderly way.
  ~Transfers();
  Transfers(Transfers&&) noexcept;
  Transfers& operator=(Transfers&&) = delete;
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  /// Start a transfer with another rank of at most 2^30 bytes. The memory must stay in place (of a
  /// receive: untouched) until the transfer with this id has finished. `tag` is 0 to 30000. What
  /// changes while it is being sent may arrive in either state. A longer message than a receive has
  /// room for is a WorldError.
  std::int64_t send(std::span<const std::byte> from, int peer, int tag);
  std::int64_t receive(std::span<std::byte> to, int peer, int tag);
  /// Moves what is under way; the transfers that have finished since the last call. The span is
  /// valid until the next call.
  [[nodiscard]] std::span<const Finished> advance();
  /// Transfers that have not finished.
  [[nodiscard]] std::size_t pending() const noexcept;

  /// The next message with this tag, from any rank, if one is there: for messages of some dozens of
  /// bytes.
  [[nodiscard]] std::optional<Arrival> try_take(std::span<std::byte> to, int tag);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::parallel
