#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "physarum/base/bytes.hpp"
#include "physarum/base/deadline.hpp"

#include "physarum/parallel/communicator.hpp"

namespace physarum::parallel {

/// The same on all ranks of a stream.
struct BroadcastOptions {
  int root = 0;                                    ///< who sends
  std::size_t head_bytes = 0;                      ///< of every message
  std::size_t piece_bytes = std::size_t{1} << 20;  ///< longer bodies travel in pieces
};

/// What a receiving rank does with a message; called from inside advance(), in order.
struct BroadcastReceiver {
  /// Where the body goes: `bytes` long, alive and untouched until `complete`.
  std::function<std::span<std::byte>(std::span<const std::byte> head, std::size_t bytes)> place;
  std::function<void(std::span<const std::byte> head)> complete;
};

/// Messages of one rank to all others of a communicator, by non-blocking collective broadcasts: the
/// receivers pass them on to one another. Every receiver gets all of them in their order. Nothing
/// here waits except close(). Messages move only while the ranks call advance(), and a rank that
/// does not may keep others from getting theirs; the root learns who has not taken what.
/// On a communicator of one rank nobody receives.
class BroadcastStream {
 public:
  /// Collective over `comm`, which the stream owns from then on. The root needs no receiver.
  BroadcastStream(Communicator comm, const BroadcastOptions& options, BroadcastReceiver receiver);
  ~BroadcastStream();
  BroadcastStream(BroadcastStream&&) noexcept;
  BroadcastStream& operator=(BroadcastStream&&) = delete;
  BroadcastStream(const BroadcastStream&) = delete;
  BroadcastStream& operator=(const BroadcastStream&) = delete;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] bool is_root() const noexcept;

  /// Root. Does not wait, and takes any number of messages: the caller bounds what is under way.
  void send(std::span<const std::byte> head, base::Bytes body);
  /// Root. Messages sent so far, and how many of them every receiver has taken.
  [[nodiscard]] std::int64_t sent() const noexcept;
  [[nodiscard]] std::int64_t taken() const noexcept;
  /// Root. Receivers that have not taken the first `messages`; ascending.
  [[nodiscard]] std::vector<int> awaited(std::int64_t messages) const;

  /// A turn: moves what is under way, ends at most one message. True if it did something.
  bool advance();

  /// Collective. Waits until all messages are taken. Throws DeadlineExceeded; the root's names the
  /// ranks that are late.
  void close(const base::Deadline& deadline);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::parallel
