// What happens to a pull when something else happens between two of its transfers.
#include <gtest/gtest.h>

#include "memory_store.hpp"

namespace physarum::weights {
namespace {

using test::MemoryStore;
using test::options_of;
using test::usual_density;
using Pull = PullResult::Kind;

/// Lets `interfere` run once, after the engine's `flush`-th flush.
void once_at_flush(MemoryStore& store, int flush, std::function<void()> interfere) {
  store.engine_access.at_flush = [flush, interfere, seen = 0]() mutable {
    if (++seen == flush) interfere();
  };
}

class StoreRace : public testing::TestWithParam<int> {};

TEST_P(StoreRace, full_pull_survives_one_publish) {
  for (const UpdateMode mode : {UpdateMode::full, UpdateMode::delta}) {
    MemoryStore store(options_of(mode, TransferType::bf16), 2, usual_density);
    Image image(store.catalogue);
    store.publish(0);
    once_at_flush(store, GetParam(), [&] {
      store.publish(1);
      store.fold_all();
    });
    EXPECT_EQ(store.pull(image).kind, Pull::full);
    EXPECT_TRUE(store.same_as(0, image, usual_density) || store.same_as(1, image, usual_density));
  }
}

TEST_P(StoreRace, full_pull_survives_many_publishes) {
  for (const UpdateMode mode : {UpdateMode::full, UpdateMode::delta}) {
    MemoryStore store(options_of(mode, TransferType::f32, 2), 2, usual_density);
    Image image(store.catalogue);
    store.publish(0);
    once_at_flush(store, GetParam(), [&] {
      for (std::int64_t version = 1; version < 7; ++version) {
        store.publish(version);
        store.fold_all();
      }
    });
    store.pull(image);
    EXPECT_TRUE(store.same_as(0, image, usual_density) || store.same_as(6, image, usual_density));
    store.engine_access.at_flush = nullptr;
    store.pull(image);
    EXPECT_TRUE(store.same_as(store.puller->newest().value(), image, usual_density));
  }
}

TEST_P(StoreRace, delta_pull_survives_the_reuse_of_its_entries) {
  MemoryStore store(options_of(UpdateMode::delta, TransferType::bf16, 2), 2, usual_density);
  Image image(store.catalogue);
  store.publish(0);
  store.pull(image);
  store.publish(1);
  store.fold_all();
  once_at_flush(store, GetParam(), [&] {
    for (std::int64_t version = 2; version < 5; ++version) {
      store.publish(version);
      store.fold_all();
    }
  });
  store.pull(image);
  EXPECT_TRUE(store.same_as(1, image, usual_density) || store.same_as(4, image, usual_density));
}

TEST_P(StoreRace, a_pull_of_one_version_never_brings_another) {
  MemoryStore store(options_of(UpdateMode::delta, TransferType::bf16, 2), 2, usual_density);
  Image image(store.catalogue);
  store.publish(0);
  once_at_flush(store, GetParam(), [&] {
    store.publish(1);
    store.fold_all();
    store.publish(2);
  });
  const PullResult result = store.pull(image, 0);
  EXPECT_TRUE(result.kind == Pull::unavailable || store.same_as(0, image, usual_density));
}

INSTANTIATE_TEST_SUITE_P(Flush, StoreRace, testing::Range(1, 5));

/// What a fold writes into slot 0 until half of the shard is done: elements, not yet the word.
void fold_half(MemoryStore& store, std::int64_t version) {
  test::EvolvingWeights next(store.catalogue, usual_density);
  next.advance_to(version);
  const Image target = next.image();
  std::memcpy(store.windows[0].span().data() + store.layout.slot_offset(0, 0),
              target.bytes().data(), static_cast<std::size_t>(store.layout.shard(0).size() / 2));
}

/// Version 0 is there. The next pull takes the words; then version 1 comes, half of its fold, and
/// what `more` does.
void half_fold_under(MemoryStore& store, std::function<void()> more = {}) {
  store.publish(0);
  once_at_flush(store, 1, [&store, more = std::move(more)] {
    store.publish(1);
    fold_half(store, 1);
    if (more) more();
  });
}

void publish_and_fold(MemoryStore& store, std::initializer_list<std::int64_t> versions) {
  for (const std::int64_t version : versions) {
    store.publish(version);
    store.fold_all();
  }
}

TEST(StoreRaceFold, a_fold_half_way_does_not_harm_a_full_pull) {
  MemoryStore store(options_of(UpdateMode::delta, TransferType::bf16), 1, usual_density);
  Image image(store.catalogue);
  half_fold_under(store);
  const PullResult result = store.pull(image);
  EXPECT_EQ(result.version, base::WeightVersion(1));
  EXPECT_GE(result.retries, 1);
  EXPECT_EQ(result.failures, 0);
  EXPECT_TRUE(store.same_as(1, image, usual_density));
}

TEST(StoreRaceFold, a_slot_left_with_half_a_delta_is_not_taken) {
  // As above; then a full image goes to the other slot, and the half-folded delta's place is used
  // again: nothing but the words of the slots tells that this one is no version.
  MemoryStore store(options_of(UpdateMode::delta, TransferType::bf16, 1), 1, usual_density);
  Image image(store.catalogue);
  half_fold_under(store, [&] {
    store.publish_full(4);
    publish_and_fold(store, {5, 6, 7});
  });
  const PullResult result = store.pull(image);
  EXPECT_EQ(result.failures, 0);
  EXPECT_GE(result.retries, 1);
  EXPECT_TRUE(store.same_as(7, image, usual_density));
}

TEST(StoreRaceFold, a_look_at_the_words_is_of_one_moment) {
  // The engine reads that version 1 is not folded in; while it reads on, it is, and its place is
  // used again. What it has fetched is half of version 1.
  MemoryStore store(options_of(UpdateMode::delta, TransferType::bf16, 1), 1, usual_density);
  Image image(store.catalogue);
  half_fold_under(store);
  int looks = 0;
  store.engine_access.within_words = [&] {
    if (++looks != 2) return;
    store.fold_all();
    publish_and_fold(store, {2, 3});
  };
  const PullResult result = store.pull(image);
  EXPECT_EQ(result.failures, 0);
  EXPECT_GE(result.retries, 1);
  EXPECT_TRUE(store.same_as(3, image, usual_density));
}

TEST(StoreRaceFold, a_full_image_replaces_a_slot_in_the_middle_of_its_fold) {
  MemoryStore store(options_of(UpdateMode::delta, TransferType::bf16), 1, usual_density);
  Image image(store.catalogue);
  store.publish(0);
  store.publish(1);
  // Between the fold's look at the words and its work another slot becomes active.
  store.publish_full(5);
  EXPECT_FALSE(store.stores[0]->advance());
  EXPECT_EQ(store.stores[0]->folded(), base::WeightVersion(5));
  store.pull(image);
  EXPECT_TRUE(store.same_as(5, image, usual_density));
}

TEST(StoreRaceFold, a_publisher_waits_for_a_fold_in_the_slot_it_needs) {
  MemoryStore store(options_of(UpdateMode::full, TransferType::bf16), 1, usual_density);
  store.publish(0);
  store.publish(1);
  store.buffer_access.store(0, StoreWords::busy, 1);  // slot 0, which version 2 needs
  EXPECT_THROW(store.publish_before(2, base::Deadline::in(0.05)), base::DeadlineExceeded);
  EXPECT_EQ(store.puller->newest(), base::WeightVersion(1));
  store.buffer_access.store(0, StoreWords::busy, 0);
  EXPECT_EQ(store.publish(2).kind, PublishResult::Kind::full);
}

TEST(StoreRaceEnd, an_engine_that_always_loses_says_so) {
  MemoryStore store(options_of(UpdateMode::delta, TransferType::bf16, 1), 1, usual_density);
  Image image(store.catalogue);
  store.publish(0);
  store.engine_access.at_flush = [&] {
    // Each look at the store finds that another full image has come.
    const std::uint64_t base = store.buffer_access.load(0, StoreWords::base(0));
    store.buffer_access.store(0, StoreWords::base(0), base == 1 ? 2 : 1);
  };
  EXPECT_THROW(store.pull(image), PullFailed);
  EXPECT_FALSE(image.version().valid());
  EXPECT_FALSE(store.puller->active());
  store.engine_access.at_flush = nullptr;
  store.publish(1);
  store.pull(image);
  EXPECT_TRUE(store.same_as(1, image, usual_density));
}

}  // namespace
}  // namespace physarum::weights
