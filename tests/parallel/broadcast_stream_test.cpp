#include "physarum/parallel/broadcast_stream.hpp"

#include <array>
#include <cstring>

#include "physarum/base/error.hpp"

#include "physarum/parallel/wait.hpp"

#include "support/mpi_test.hpp"

namespace physarum::parallel {
namespace {

using base::Deadline;
using test::world;

Bytes body_of(std::int64_t message) {
  constexpr std::array<std::size_t, 6> sizes = {0, 1, 999, 1000, 1001, 300'000};
  Bytes bytes(sizes[static_cast<std::size_t>(message) % sizes.size()]);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(message)) & 0xff);
  }
  return bytes;
}

/// A stream whose messages are numbered by their heads.
class Numbered {
 public:
  explicit Numbered(int root)
      : stream_(world().duplicate("numbered"),
                {.root = root, .head_bytes = sizeof(std::int64_t), .piece_bytes = 1000},
                {.place =
                     [this](std::span<const std::byte> head, std::size_t bytes) {
                       EXPECT_EQ(number(head), received_);
                       place_.assign(bytes, std::byte{0xee});
                       return std::span<std::byte>(place_);
                     },
                 .complete =
                     [this](std::span<const std::byte> head) {
                       EXPECT_EQ(place_, body_of(number(head)));
                       ++received_;
                     }}) {}
  void send() {
    const std::int64_t next = stream_.sent();
    stream_.send(std::as_bytes(std::span(&next, 1)), body_of(next));
  }
  /// All ranks but `absent` take part until the root knows that those have `messages`.
  void run_to(std::int64_t messages, int absent) {
    const auto done = [&] {
      if (!stream_.is_root()) return received_ >= messages;
      return stream_.awaited(messages) == (absent < 0 ? std::vector<int>{} : std::vector{absent});
    };
    EXPECT_TRUE(wait_until(done, test::soon(), [&] { return stream_.advance(); }));
    // An answer leaves with the turn after the message.
    for (int turn = 0; turn < 3; ++turn) stream_.advance();
  }
  [[nodiscard]] BroadcastStream& stream() { return stream_; }
  [[nodiscard]] std::int64_t received() const { return received_; }

 private:
  static std::int64_t number(std::span<const std::byte> head) {
    std::int64_t value = -1;
    EXPECT_EQ(head.size(), sizeof value);
    std::memcpy(&value, head.data(), sizeof value);
    return value;
  }
  Bytes place_;
  std::int64_t received_ = 0;
  BroadcastStream stream_;
};

TEST(BroadcastStream, brings_all_messages_of_any_rank_in_order) {
  for (int root = 0; root < world().size(); ++root) {
    Numbered numbered(root);
    constexpr std::int64_t messages = 30;
    if (numbered.stream().is_root()) {
      for (std::int64_t i = 0; i < messages; ++i) numbered.send();
    }
    numbered.stream().close(test::soon());
    EXPECT_EQ(numbered.received(), world().rank() == root ? 0 : messages);
  }
}

TEST(BroadcastStream, tells_the_root_who_has_not_taken_what) {
  if (world().size() == 1) return;
  const int absent = world().size() - 1;  // passes nothing on to others
  Numbered numbered(0);
  if (numbered.stream().is_root()) {
    for (int i = 0; i < 3; ++i) numbered.send();
  }
  if (world().rank() != absent) numbered.run_to(3, absent);
  if (numbered.stream().is_root()) {
    EXPECT_EQ(numbered.stream().taken(), 0);
    EXPECT_EQ(numbered.stream().sent(), 3);
  }
  world().barrier();
  numbered.run_to(3, -1);
  EXPECT_EQ(numbered.stream().is_root() ? numbered.stream().taken() : 3, 3);
  numbered.stream().close(test::soon());
}

TEST(BroadcastStream, alone_everything_is_taken_at_once) {
  BroadcastStream stream({}, {.head_bytes = 1}, {});
  const std::byte head{1};
  stream.send(std::span(&head, 1), Bytes(10));
  EXPECT_EQ(stream.taken(), 1);
  EXPECT_TRUE(stream.awaited(1).empty());
  EXPECT_FALSE(stream.advance());
  stream.close(Deadline::in(1));
}

}  // namespace
}  // namespace physarum::parallel
