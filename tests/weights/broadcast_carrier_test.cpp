// The carrier `broadcast` between ranks, one of which takes no part for a while.
#include "broadcast_carrier.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "physarum/parallel/mailbox.hpp"

#include "exchange_fixture.hpp"
#include "memory_store.hpp"

namespace physarum::weights {
namespace {

using test::Circle;
using test::MemoryStore;
using test::options_of;
using test::usual_density;
using test::world;

/// Rank 0 has a store; the others are engines, of which the last waits for mail without a turn of
/// anything else.
class LateEngine {
 public:
  [[nodiscard]] static bool is_late() { return world().rank() == world().size() - 1; }
  void sleep() {
    parallel::Backoff backoff;
    while (!mail_.try_receive()) backoff.pause();
  }
  void wake() { EXPECT_EQ(mail_.send(world().size() - 1, 1, {}), parallel::SendResult::sent); }
  void close() {
    EXPECT_TRUE(mail_.flush(physarum::test::soon()));
    mail_.close();
  }

 private:
  parallel::Mailbox mail_{world()};
};

/// Far more than it takes to send what may be under way.
constexpr double sender_patience_s = 2;

/// Publishes more than may be under way, and waits until somebody is found late. What was said.
std::string publish_and_wait(MemoryStore& store, VersionSender& sender) {
  std::string said;
  const auto advance = [&] {
    try {
      sender.advance();
    } catch (const base::DeadlineExceeded& error) {
      said = error.what();
    }
    return !said.empty();
  };
  for (std::int64_t version = 0; version < 10; ++version) {
    store.publish(version);
    advance();
  }
  EXPECT_TRUE(sender.has_sent(base::WeightVersion(3)));
  EXPECT_FALSE(sender.has_sent(base::WeightVersion(4)));  // four are on their way
  EXPECT_TRUE(parallel::wait_until(advance, physarum::test::soon()));
  EXPECT_FALSE(sender.has_sent(base::WeightVersion(4)));
  return said;
}

TEST(VersionSender, sends_no_more_than_the_ring_has_and_names_who_is_late) {
  if (world().size() == 1) return;
  LateEngine late;
  MemoryStore store(options_of(UpdateMode::delta, TransferType::bf16, 4), 1, usual_density);
  Replica replica(store.layout, store.engine_access);
  const auto part_of = [](std::span<const std::byte> head) {
    VersionPart part;
    std::memcpy(&part, head.data(), sizeof part);
    return part;
  };
  parallel::BroadcastStream stream(
      world().duplicate("versions"), {.head_bytes = sizeof(VersionPart)},
      {.place = [&](auto head,
                    std::size_t bytes) { return replica.place(0, part_of(head), bytes); },
       .complete = [&](auto head) { replica.complete(0, part_of(head)); }});
  if (stream.is_root()) {
    std::vector<int> ranks(static_cast<std::size_t>(world().size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    VersionSender sender(store.layout, 0, store.windows[0].span(), store.buffer_access,
                         {stream, nullptr, ranks, sender_patience_s});
    const std::string said = publish_and_wait(store, sender);
    EXPECT_NE(said.find(std::to_string(world().size() - 1) + " in 'pull' to take weight version 0"),
              std::string::npos)
        << said;
    late.wake();
  } else if (LateEngine::is_late()) {
    late.sleep();
  }
  stream.close(physarum::test::soon());
  EXPECT_TRUE(world().rank() == 0 || replica.arrived(base::WeightVersion(3)));
  late.close();
}

TEST(BroadcastCarrier, a_late_engine_stops_no_trainer) {
  if (world().size() < 3) return;
  constexpr std::int64_t versions = 20;
  LateEngine late;
  WeightOptions options;
  options.carrier = WeightCarrier::broadcast;
  Circle circle({1, 1, false}, options, usual_density);
  for (std::int64_t version = 0; version < versions; ++version) circle.publish(version);
  if (circle.layout().is_trainer()) late.wake();
  if (LateEngine::is_late()) late.sleep();
  circle.meet();
  circle.pull_and_check(versions - 1);
  late.close();
  circle.close();
}

}  // namespace
}  // namespace physarum::weights
