// The copy of the store that an engine of the carrier `broadcast` keeps, without MPI.
#include "replica.hpp"

#include <random>

#include <gtest/gtest.h>

#include "memory_store.hpp"
#include "version_sender.hpp"

namespace physarum::weights {
namespace {

using test::MemoryStore;
using test::options_of;
using test::usual_density;
using Pull = PullResult::Kind;

/// A store, and an engine on a rank of its buffer ranks.
class Copied {
 public:
  explicit Copied(UpdateMode mode, std::int64_t ring = 4)
      : options(options_of(mode, TransferType::bf16, ring)),
        store(options, buffers, usual_density),
        replica(store.layout, store.engine_access),
        puller(std::make_unique<Puller::Impl>(store.layout, replica, options)) {
    for (int buffer = 0; buffer < buffers; ++buffer) {
      streams.emplace_back(parallel::Communicator(),
                           parallel::BroadcastOptions{.head_bytes = sizeof(VersionPart)},
                           parallel::BroadcastReceiver{});
    }
    for (int buffer = 0; buffer < buffers; ++buffer) {
      const auto index = static_cast<std::size_t>(buffer);
      senders.push_back(std::make_unique<VersionSender>(
          store.layout, buffer, store.windows[index].span(), store.buffer_access,
          VersionSender::Ends{streams[index], &replica, {buffer}, 10}));
      store.stores[index] = std::make_unique<WeightStore>(std::make_unique<WeightStore::Impl>(
          store.layout, buffer, store.windows[index].span(), store.buffer_access,
          [this, index](base::WeightVersion version) {
            return senders[index]->has_sent(version);
          }));
    }
  }
  void send_all() {
    for (const auto& sender : senders) {
      while (sender->advance()) {
      }
    }
  }
  PullResult pull(Image& image) { return puller.pull(image, base::Deadline::in(10)); }
  [[nodiscard]] bool right(const Image& image) const {
    return image.version() == base::WeightVersion(store.weights.version()) &&
           image.digest() == store.weights.image().digest();
  }

  static constexpr int buffers = 2;
  WeightOptions options;
  MemoryStore store;
  Replica replica;
  Puller puller;
  std::vector<parallel::BroadcastStream> streams;
  std::vector<std::unique_ptr<VersionSender>> senders;
};

TEST(Replica, brings_every_version_as_the_store_would) {
  for (const UpdateMode mode : {UpdateMode::full, UpdateMode::delta}) {
    Copied copied(mode);
    Image image(copied.store.catalogue);
    EXPECT_EQ(copied.pull(image).kind, Pull::unavailable);
    for (std::int64_t version = 0; version < 20; ++version) {
      copied.store.publish(version);
      copied.send_all();
      copied.store.fold_all();
      const Pull kind = copied.pull(image).kind;
      EXPECT_EQ(kind, mode == UpdateMode::full || version == 0 ? Pull::full : Pull::delta);
      EXPECT_TRUE(copied.right(image));
    }
    Image late(copied.store.catalogue);
    EXPECT_EQ(copied.pull(late).kind, Pull::full);
    EXPECT_TRUE(copied.right(late));
  }
}

TEST(Replica, a_published_version_that_has_not_arrived_is_waited_for) {
  Copied copied(UpdateMode::delta);
  Image image(copied.store.catalogue);
  copied.store.publish(0);
  copied.senders[0]->advance();  // one of two buffer ranks
  copied.puller.begin(image, base::WeightVersion(0));
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_FALSE(copied.puller.advance(1 << 20, base::Deadline::in(10)));
  }
  EXPECT_FALSE(image.version().valid());
  EXPECT_THROW((void)copied.puller.advance(1 << 20, base::Deadline::in(0)), base::DeadlineExceeded);
  copied.puller.begin(image, base::WeightVersion(1));
  EXPECT_EQ(copied.puller.advance(1 << 20, base::Deadline::in(10))->kind, Pull::unavailable);
  copied.send_all();
  copied.pull(image);
  EXPECT_TRUE(copied.right(image));
}

TEST(Replica, deltas_are_folded_once_they_are_sent) {
  Copied copied(UpdateMode::delta);
  copied.store.publish(0);
  copied.send_all();
  copied.store.publish(1);
  copied.store.fold_all();
  EXPECT_EQ(copied.store.stores[0]->folded(), base::WeightVersion(0));
  copied.send_all();
  copied.store.fold_all();
  EXPECT_EQ(copied.store.stores[0]->folded(), base::WeightVersion(1));
}

TEST(Replica, a_store_that_cannot_send_gets_full_images_and_the_newest_goes_out) {
  Copied copied(UpdateMode::delta, 2);
  Image image(copied.store.catalogue);
  copied.store.publish(0);
  copied.send_all();
  copied.pull(image);
  for (std::int64_t version = 1; version < 9; ++version) {
    copied.store.publish(version);
    copied.store.fold_all();
  }
  copied.send_all();
  copied.puller.begin(image, base::WeightVersion(4));  // was never sent
  EXPECT_EQ(copied.puller.advance(1 << 20, base::Deadline::in(10))->kind, Pull::unavailable);
  copied.pull(image);
  EXPECT_TRUE(copied.right(image));
}

TEST(Replica, flipped_bits_are_noticed_and_the_store_is_asked_for_a_full_image) {
  constexpr std::int64_t flips = 300;
  Copied copied(UpdateMode::delta);
  Image image(copied.store.catalogue);
  std::mt19937_64 dice(5);
  std::int64_t noticed = 0;
  for (std::int64_t flip = 0; flip < flips; ++flip) {
    copied.store.publish(flip);
    copied.send_all();
    copied.store.fold_all();
    if (flip % 3 == 0) image.set_version({});  // takes the full image
    // Anywhere but in the words: those are not sent.
    const int buffer = static_cast<int>(dice() % Copied::buffers);
    const std::uint64_t first = copied.store.layout.slot_offset(buffer, 0);
    const auto all = static_cast<std::uint64_t>(copied.store.layout.window_bytes(buffer));
    const std::uint64_t place = first + dice() % (all - first);
    std::byte byte{};
    copied.replica.get(std::span(&byte, 1), buffer, place);
    byte ^= static_cast<std::byte>(1U << (dice() % 8));
    copied.replica.put(std::span(&byte, 1), buffer, place);
    try {
      noticed += copied.pull(image).failures > 0 ? 1 : 0;
    } catch (const PullFailed&) {
      ++noticed;
      EXPECT_FALSE(image.version().valid());
    }
    ASSERT_TRUE(!image.version().valid() || copied.right(image)) << "flip " << flip;
  }
  EXPECT_GT(noticed, flips / 20);  // most places hold nothing that is used
  copied.store.publish(flips);
  copied.send_all();
  copied.pull(image);
  EXPECT_TRUE(copied.right(image));
}

}  // namespace
}  // namespace physarum::weights
