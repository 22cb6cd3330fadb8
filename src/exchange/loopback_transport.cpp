#include "physarum/exchange/loopback_transport.hpp"

#include <utility>

#include "physarum/base/contracts.hpp"

namespace physarum::exchange {

/// Its queue and its marks belong to the network's mutex.
class LoopbackTransport final : public Transport {
 public:
  LoopbackTransport(LoopbackNetwork& network, int rank) : network_(network), rank_(rank) {}

  [[nodiscard]] WorldRank rank() const override { return WorldRank(rank_); }
  [[nodiscard]] int size() const override { return network_.size(); }
  [[nodiscard]] std::vector<WorldRank> take_lost_peers() override {
    const std::lock_guard lock(network_.mutex_);
    return std::exchange(lost_, {});
  }

 private:
  friend class LoopbackNetwork;
  [[nodiscard]] Carried carry(int peer, int tag, Bytes& bytes) override {
    const std::lock_guard lock(network_.mutex_);
    auto& receiver = *network_.endpoints_[static_cast<std::size_t>(peer)];
    if (dead_ || receiver.dead_) return Carried::taken;
    if (receiver.arrived_.size() >= network_.capacity_) return Carried::full;
    receiver.arrived_.push_back({rank_, tag, std::move(bytes)});
    return Carried::taken;
  }
  [[nodiscard]] std::optional<Raw> next() override {
    const std::lock_guard lock(network_.mutex_);
    if (arrived_.empty()) return {};
    Raw raw = std::move(arrived_.front());
    arrived_.pop_front();
    return raw;
  }

  LoopbackNetwork& network_;
  int rank_;
  std::deque<Raw> arrived_;
  std::vector<WorldRank> lost_;
  bool dead_ = false;
};

LoopbackNetwork::LoopbackNetwork(int size, std::size_t capacity) : capacity_(capacity) {
  base::expects(size > 0 && capacity > 0, "a network has a rank and room for a message");
  for (int rank = 0; rank < size; ++rank)
    endpoints_.push_back(std::make_unique<LoopbackTransport>(*this, rank));
}

LoopbackNetwork::~LoopbackNetwork() = default;

Transport& LoopbackNetwork::endpoint(int rank) {
  return *endpoints_.at(static_cast<std::size_t>(rank));
}

void LoopbackNetwork::inject(int from, int to, int tag, Bytes bytes) {
  const std::lock_guard lock(mutex_);
  endpoints_.at(static_cast<std::size_t>(to))->arrived_.push_back({from, tag, std::move(bytes)});
}

void LoopbackNetwork::kill(int rank) {
  const std::lock_guard lock(mutex_);
  endpoints_.at(static_cast<std::size_t>(rank))->dead_ = true;
  for (auto& endpoint : endpoints_) endpoint->lost_.emplace_back(rank);
}

}  // namespace physarum::exchange
