#pragma once

#include "physarum/parallel/communicator.hpp"
#include "physarum/parallel/mailbox.hpp"

#include "physarum/exchange/transport.hpp"

namespace physarum::exchange {

/// Messages over MPI, by a mailbox on a duplicate of the world.
class MpiTransport final : public Transport {
 public:
  /// Collective over `world`.
  explicit MpiTransport(const parallel::Communicator& world);

  [[nodiscard]] WorldRank rank() const override { return WorldRank(mailbox_.rank()); }
  [[nodiscard]] int size() const override { return mailbox_.size(); }
  [[nodiscard]] std::vector<WorldRank> take_lost_peers() override;
  [[nodiscard]] bool flush(const base::Deadline& deadline) override;
  void close() override { mailbox_.close(); }

 private:
  [[nodiscard]] Carried carry(int peer, int tag, Bytes& bytes) override;
  [[nodiscard]] std::optional<Raw> next() override;
  parallel::Mailbox mailbox_;
};

}  // namespace physarum::exchange
