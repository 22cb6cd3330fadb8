#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "physarum/exchange/transport.hpp"

namespace physarum::exchange {

class LoopbackTransport;

/// All ranks in one process, for tests and for runs without MPI. Each endpoint is used by one
/// thread; different endpoints may be used by different threads, or all by one in turns.
class LoopbackNetwork {
 public:
  /// `capacity` messages may be under way to a rank; further ones wait at their sender.
  explicit LoopbackNetwork(int size, std::size_t capacity = 4096);
  ~LoopbackNetwork();
  LoopbackNetwork(const LoopbackNetwork&) = delete;
  LoopbackNetwork& operator=(const LoopbackNetwork&) = delete;
  LoopbackNetwork(LoopbackNetwork&&) = delete;
  LoopbackNetwork& operator=(LoopbackNetwork&&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(endpoints_.size()); }
  [[nodiscard]] Transport& endpoint(int rank);
  /// Any thread. A message of any tag and content, as a broken or hostile peer would send it.
  void inject(int from, int to, int tag, Bytes bytes);
  /// Any thread. From now on `rank` is dead: messages to it are dropped, others learn of it.
  void kill(int rank);

 private:
  friend class LoopbackTransport;
  std::mutex mutex_;
  std::size_t capacity_;
  std::vector<std::unique_ptr<LoopbackTransport>> endpoints_;
};

}  // namespace physarum::exchange
