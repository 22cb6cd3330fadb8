#include "physarum/exchange/mpi_transport.hpp"

#include <utility>

namespace physarum::exchange {

MpiTransport::MpiTransport(const parallel::Communicator& world) : mailbox_(world) {}

std::vector<WorldRank> MpiTransport::take_lost_peers() {
  std::vector<WorldRank> lost;
  for (const int peer : mailbox_.take_lost_peers()) lost.emplace_back(peer);
  return lost;
}

bool MpiTransport::flush(const base::Deadline& deadline) {
  return Transport::flush(deadline) && mailbox_.flush(deadline);
}

Transport::Carried MpiTransport::carry(int peer, int tag, Bytes& bytes) {
  const auto result = mailbox_.send(peer, tag, std::move(bytes));
  return result == parallel::SendResult::full ? Carried::full : Carried::taken;
}

std::optional<Transport::Raw> MpiTransport::next() {
  auto message = mailbox_.try_receive();
  if (!message) return {};
  return Raw{message->peer, message->tag, std::move(message->bytes)};
}

}  // namespace physarum::exchange
