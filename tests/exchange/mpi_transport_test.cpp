#include "physarum/exchange/mpi_transport.hpp"

#include "physarum/parallel/wait.hpp"

#include "physarum/exchange/messages.hpp"

#include "sample/builders.hpp"
#include "support/mpi_test.hpp"

namespace physarum::exchange {
namespace {

using test::world;

TEST(MpiTransport, carries_messages_between_all_ranks_and_to_itself) {
  MpiTransport transport(world());
  const int size = world().size();
  for (int peer = 0; peer < size; ++peer) {
    for (std::int64_t step = 0; step < 50; ++step)
      send(transport, WorldRank(peer), Fetched{step * size + world().rank()});
  }
  std::vector<std::int64_t> next(static_cast<std::size_t>(size), 0);
  std::int64_t received = 0;
  const auto all_came = [&] {
    while (const auto envelope = transport.try_receive(Party::server)) {
      const int peer = envelope->peer.value();
      EXPECT_EQ(decode<Fetched>(envelope->bytes).step,
                next[static_cast<std::size_t>(peer)]++ * size + peer);
      ++received;
    }
    return received == 50 * size;
  };
  EXPECT_TRUE(parallel::wait_until(all_came, physarum::test::soon()));
  EXPECT_TRUE(transport.flush(physarum::test::soon()));
  world().barrier();
  transport.close();
}

TEST(MpiTransport, carries_large_groups) {
  MpiTransport transport(world());
  auto group = sample::testing::make_group(1, 2);
  group.samples[0].response.assign(3'000'000, 'x');
  const int next = (world().rank() + 1) % world().size();
  send(transport, WorldRank(next), Delivery{group});
  std::optional<Envelope> envelope;
  EXPECT_TRUE(parallel::wait_until(
      [&] { return (envelope = transport.try_receive(Party::server)).has_value(); },
      physarum::test::soon()));
  EXPECT_EQ(decode<Delivery>(envelope->bytes).group, group);
  EXPECT_TRUE(transport.flush(physarum::test::soon()));
  world().barrier();
  transport.close();
}

}  // namespace
}  // namespace physarum::exchange
