#include "physarum/parallel/mailbox.hpp"

#include <map>

#include "physarum/parallel/wait.hpp"

#include "support/mpi_test.hpp"

namespace physarum::parallel {
namespace {

using base::Deadline;
using test::world;

Bytes filled(std::size_t count, int seed) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(seed)) & 0xff);
  }
  return bytes;
}

/// Waits for `count` messages.
std::vector<Message> receive(Mailbox& box, std::size_t count) {
  std::vector<Message> messages;
  const bool all = wait_until(
      [&] {
        while (auto message = box.try_receive()) messages.push_back(std::move(*message));
        return messages.size() >= count;
      },
      test::soon());
  EXPECT_TRUE(all) << "received " << messages.size() << " of " << count;
  return messages;
}

TEST(Mailbox, brings_every_message_to_every_rank_in_the_sender_s_order) {
  Mailbox box(world());
  constexpr int each = 50;
  for (int i = 0; i < each; ++i) {
    for (int peer = 0; peer < box.size(); ++peer) {
      // Sizes around the eager limit: short messages must not overtake long ones.
      const std::size_t size = i % 3 == 0 ? 200'000 : static_cast<std::size_t>(i);
      ASSERT_EQ(box.send(peer, i, filled(size, i + box.rank())), SendResult::sent);
    }
  }
  const auto messages = receive(box, static_cast<std::size_t>(each * box.size()));
  std::map<int, int> next;
  for (const auto& message : messages) {
    EXPECT_EQ(message.tag, next[message.peer]++);
    EXPECT_EQ(message.bytes, filled(message.bytes.size(), message.tag + message.peer));
  }
  EXPECT_TRUE(box.flush(test::soon()));
  box.close();
}

TEST(Mailbox, sends_long_messages_in_pieces_between_short_ones) {
  Mailbox box(world(), {.piece_bytes = 1000});
  const int next = (box.rank() + 1) % box.size();
  const std::vector<std::size_t> sizes{10, 1001, 999, 54'321, 0, 2000};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_EQ(box.send(next, static_cast<int>(i), filled(sizes[i], 3)), SendResult::sent);
  }
  const auto messages = receive(box, sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(messages[i].tag, static_cast<int>(i));
    EXPECT_EQ(messages[i].bytes, filled(sizes[i], 3));
  }
  EXPECT_TRUE(box.flush(test::soon()));
  box.close();
}

TEST(Mailbox, gives_the_bytes_back_when_it_is_full) {
  Mailbox box(world(), {.capacity_messages = 2});
  if (box.size() > 1 && box.rank() == 0) {
    // Long messages stay pending until the peer, which waits below, receives them.
    const std::size_t size = 1 << 20;
    EXPECT_EQ(box.send(1, 0, Bytes(size)), SendResult::sent);
    EXPECT_EQ(box.send(1, 1, Bytes(size)), SendResult::sent);
    Bytes third(size);
    EXPECT_EQ(box.send(1, 2, std::move(third)), SendResult::full);
    EXPECT_EQ(third.size(), size);
    EXPECT_EQ(box.pending(), 2u);
  }
  world().barrier();
  if (box.size() > 1 && box.rank() == 1) {
    EXPECT_EQ(receive(box, 2).size(), 2u);
  }
  EXPECT_TRUE(box.flush(test::soon()));
  box.close();
}

TEST(Mailbox, flush_receives_too_so_that_two_full_ranks_do_not_block_each_other) {
  Mailbox box(world());
  for (int peer = 0; peer < box.size(); ++peer) {
    EXPECT_EQ(box.send(peer, 0, Bytes(3 << 20)), SendResult::sent);
  }
  EXPECT_TRUE(box.flush(test::soon()));
  EXPECT_EQ(receive(box, static_cast<std::size_t>(box.size())).size(),
            static_cast<std::size_t>(box.size()));
  box.close();
}

TEST(Mailbox, flush_stops_at_its_deadline) {
  Mailbox box(world());
  if (box.size() > 1 && box.rank() == 0) {
    EXPECT_EQ(box.send(1, 0, Bytes(4 << 20)), SendResult::sent);
    EXPECT_FALSE(box.flush(Deadline::in(0.05)));
  }
  world().barrier();
  if (box.size() > 1 && box.rank() == 1) receive(box, 1);
  EXPECT_TRUE(box.flush(test::soon()));
  EXPECT_TRUE(box.take_lost_peers().empty());
  box.close();
}

}  // namespace
}  // namespace physarum::parallel
