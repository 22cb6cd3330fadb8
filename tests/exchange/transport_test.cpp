#include <thread>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/exchange/loopback_transport.hpp"
#include "physarum/exchange/messages.hpp"

namespace physarum::exchange {
namespace {

TEST(Transport, keeps_messages_for_the_party_they_are_for) {
  LoopbackNetwork network(2);
  auto& rank0 = network.endpoint(0);
  auto& rank1 = network.endpoint(1);
  send(rank0, WorldRank(1), Published{WeightVersion(3)});
  send(rank0, WorldRank(1), WorkReply{});
  EXPECT_FALSE(rank1.try_receive(Party::trainer));
  EXPECT_EQ(rank1.try_receive(Party::engine)->kind, MessageKind::work_reply);
  const auto published = rank1.try_receive(Party::server);
  ASSERT_TRUE(published);
  EXPECT_EQ(published->peer, WorldRank(0));
  EXPECT_EQ(decode<Published>(published->bytes).version, WeightVersion(3));
  EXPECT_FALSE(rank1.try_receive(Party::server));
}

TEST(Transport, a_rank_may_send_to_itself) {
  LoopbackNetwork network(1);
  send(network.endpoint(0), WorldRank(0), Goodbye{});
  EXPECT_TRUE(network.endpoint(0).try_receive(Party::server));
}

TEST(Transport, a_full_carrier_delays_but_neither_loses_nor_reorders) {
  LoopbackNetwork network(2, 3);
  auto& sender = network.endpoint(0);
  for (std::int64_t step = 0; step < 20; ++step) send(sender, WorldRank(1), Fetched{step});
  EXPECT_FALSE(sender.flush(base::Deadline::in(0)));
  for (std::int64_t step = 0; step < 20; ++step) {
    (void)sender.try_receive(Party::server);  // a role loop's turn moves what waits
    const auto envelope = network.endpoint(1).try_receive(Party::server);
    ASSERT_TRUE(envelope);
    EXPECT_EQ(decode<Fetched>(envelope->bytes).step, step);
  }
  EXPECT_TRUE(sender.flush(base::Deadline::in(0)));
}

TEST(Transport, counts_and_drops_messages_of_unknown_kind) {
  LoopbackNetwork network(2);
  network.inject(1, 0, 999, Bytes(5));
  EXPECT_FALSE(network.endpoint(0).try_receive(Party::server));
  EXPECT_EQ(network.endpoint(0).foreign_messages(), 1);
}

TEST(Transport, refuses_peers_that_do_not_exist) {
  LoopbackNetwork network(2);
  EXPECT_THROW(send(network.endpoint(0), WorldRank(2), Goodbye{}), base::ContractViolation);
  EXPECT_THROW(send(network.endpoint(0), WorldRank(), Goodbye{}), base::ContractViolation);
}

TEST(Transport, a_queue_that_nobody_empties_ends_with_an_error) {
  LoopbackNetwork network(2, 1);
  auto& sender = network.endpoint(0);
  const auto flood = [&] {
    for (std::size_t i = 0; i < Transport::queue_limit + 3; ++i)
      send(sender, WorldRank(1), Goodbye{});
  };
  EXPECT_THROW(flood(), base::WorldError);
}

TEST(Transport, tells_of_dead_peers_once) {
  LoopbackNetwork network(3);
  network.kill(2);
  send(network.endpoint(0), WorldRank(2), Goodbye{});
  EXPECT_EQ(network.endpoint(0).take_lost_peers(), std::vector<WorldRank>{WorldRank(2)});
  EXPECT_TRUE(network.endpoint(0).take_lost_peers().empty());
}

TEST(Transport, endpoints_may_run_in_threads) {
  LoopbackNetwork network(3, 8);
  constexpr std::int64_t count = 2000;
  const auto produce = [&](int rank) {
    auto& mine = network.endpoint(rank);
    for (std::int64_t step = 0; step < count; ++step) send(mine, WorldRank(0), Fetched{step});
    EXPECT_TRUE(mine.flush(base::Deadline::in(30)));
  };
  std::thread first(produce, 1), second(produce, 2);
  std::vector<std::int64_t> next(3, 0);
  const auto deadline = base::Deadline::in(30);
  while (next[1] + next[2] < 2 * count && !deadline.expired()) {
    const auto envelope = network.endpoint(0).try_receive(Party::server);
    if (!envelope) continue;
    auto& expected = next[static_cast<std::size_t>(envelope->peer.value())];
    EXPECT_EQ(decode<Fetched>(envelope->bytes).step, expected++);
  }
  first.join();
  second.join();
  EXPECT_EQ(next[1] + next[2], 2 * count);
}

}  // namespace
}  // namespace physarum::exchange
