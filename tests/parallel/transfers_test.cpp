#include "physarum/parallel/transfers.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/parallel/wait.hpp"

#include "support/mpi_test.hpp"

namespace physarum::parallel {
namespace {

using test::world;

std::vector<std::byte> pattern_of(std::size_t size, int seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(seed)) % 251);
  }
  return bytes;
}

/// All that finish until nothing is pending.
std::vector<Transfers::Finished> all_ends(Transfers& transfers) {
  std::vector<Transfers::Finished> ends;
  EXPECT_TRUE(wait_until(
      [&] {
        for (const auto& end : transfers.advance()) ends.push_back(end);
        return transfers.pending() == 0;
      },
      test::soon()));
  return ends;
}

TEST(Transfers, move_bytes_between_all_pairs_of_ranks) {
  const Communicator comm = world().duplicate("transfers");
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{3} << 20}) {
    Transfers transfers(comm);
    const auto mine = pattern_of(size, comm.rank());
    std::vector<std::vector<std::byte>> theirs(static_cast<std::size_t>(comm.size()));
    for (int peer = 0; peer < comm.size(); ++peer) {
      if (peer == comm.rank()) continue;
      auto& to = theirs[static_cast<std::size_t>(peer)];
      to.resize(size);
      transfers.receive(to, peer, 5);
      transfers.send(mine, peer, 5);
    }
    EXPECT_EQ(transfers.pending(), 2 * static_cast<std::size_t>(comm.size() - 1));
    for (const auto& end : all_ends(transfers)) {
      EXPECT_EQ(end.bytes, size);
      EXPECT_EQ(end.outcome, Transfers::Outcome::done);
    }
    for (int peer = 0; peer < comm.size(); ++peer) {
      if (peer == comm.rank()) continue;
      EXPECT_EQ(theirs[static_cast<std::size_t>(peer)], pattern_of(size, peer));
    }
  }
}

TEST(Transfers, messages_with_one_tag_keep_their_order) {
  if (world().size() < 2) return;
  const Communicator comm = world().duplicate("transfers");
  Transfers transfers(comm);
  std::vector<std::int64_t> numbers(50);
  if (comm.rank() == 0) {
    std::iota(numbers.begin(), numbers.end(), 0);
    for (auto& number : numbers) transfers.send(std::as_bytes(std::span(&number, 1)), 1, 2);
  } else if (comm.rank() == 1) {
    for (auto& number : numbers) {
      transfers.receive(std::as_writable_bytes(std::span(&number, 1)), 0, 2);
    }
  }
  all_ends(transfers);
  for (std::size_t i = 0; i < numbers.size() && comm.rank() < 2; ++i) {
    EXPECT_EQ(numbers[i], static_cast<std::int64_t>(i));
  }
}

TEST(Transfers, a_receive_says_how_much_came) {
  if (world().size() < 2) return;
  const Communicator comm = world().duplicate("transfers");
  Transfers transfers(comm);
  std::vector<std::byte> bytes(100);
  std::int64_t id = -1;
  if (comm.rank() == 0) id = transfers.send(std::span(bytes).first(60), 1, 1);
  if (comm.rank() == 1) id = transfers.receive(bytes, 0, 1);
  for (const auto& end : all_ends(transfers)) {
    EXPECT_EQ(end.id, id);
    EXPECT_EQ(end.bytes, 60U);
    EXPECT_EQ(end.peer, 1 - comm.rank());
  }
}

TEST(Transfers, a_message_longer_than_its_place_is_an_error) {
  if (world().size() < 2) return;
  const Communicator comm = world().duplicate("transfers");
  Transfers transfers(comm);
  std::vector<std::byte> bytes(100);
  if (comm.rank() == 0) {
    transfers.send(bytes, 1, 1);
    all_ends(transfers);
  }
  if (comm.rank() == 1) {
    transfers.receive(std::span(bytes).first(60), 0, 1);
    EXPECT_THROW(all_ends(transfers), base::WorldError);
  }
}

TEST(Transfers, receives_that_nothing_comes_for_are_withdrawn_at_the_end) {
  const Communicator comm = world().duplicate("transfers");
  std::vector<std::byte> bytes(100);
  if (comm.size() > 1) {
    Transfers transfers(comm);
    transfers.receive(bytes, (comm.rank() + 1) % comm.size(), 1);
    EXPECT_EQ(transfers.advance().size(), 0U);
  }
  // The session is not marked as failed: its end is orderly, which the test main looks at.
  comm.barrier();
}

TEST(Transfers, short_messages_are_taken_from_any_rank_and_long_ones_dropped) {
  const Communicator comm = world().duplicate("transfers");
  Transfers transfers(comm);
  const auto mine = pattern_of(comm.rank() % 2 == 1 ? 24 : 1 << 20, comm.rank());
  if (comm.rank() != 0) transfers.send(mine, 0, 3);
  int found = 0;
  const bool all = wait_until(
      [&] {
        std::vector<std::byte> record(24);
        const auto arrival = comm.rank() == 0 ? transfers.try_take(record, 3) : std::nullopt;
        if (arrival) {
          ++found;
          const bool is_short = arrival->peer % 2 == 1;
          EXPECT_EQ(arrival->bytes, is_short ? 24U : 1U << 20);
          if (is_short) {
            EXPECT_EQ(record, pattern_of(24, arrival->peer));
          }
        }
        (void)transfers.advance();
        return transfers.pending() == 0 && (comm.rank() != 0 || found == comm.size() - 1);
      },
      test::soon());
  EXPECT_TRUE(all);
}

TEST(Transfers, refuse_what_no_rank_can_do) {
  Transfers transfers(world());
  std::vector<std::byte> bytes(8);
  EXPECT_THROW(transfers.send(bytes, world().rank(), 1), base::ContractViolation);
  EXPECT_THROW(transfers.send(bytes, world().size(), 1), base::ContractViolation);
  EXPECT_THROW(transfers.receive(bytes, -1, 1), base::ContractViolation);
  EXPECT_THROW(transfers.receive(bytes, (world().rank() + 1) % world().size(), 30001),
               base::ContractViolation);
  const Communicator null;
  Transfers alone(null);
  EXPECT_THROW(alone.send(bytes, 0, 1), base::ContractViolation);
  EXPECT_FALSE(alone.try_take(bytes, 1));
  EXPECT_EQ(alone.advance().size(), 0U);
}

}  // namespace
}  // namespace physarum::parallel
