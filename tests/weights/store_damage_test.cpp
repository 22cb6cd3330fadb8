// Bytes in the store that are not what a trainer put there.
#include <gtest/gtest.h>

#include "memory_store.hpp"

namespace physarum::weights {
namespace {

using test::MemoryStore;
using test::options_of;
using test::usual_density;

void flip(MemoryStore& store, std::uint64_t offset) {
  store.windows[0].span()[static_cast<std::size_t>(offset)] ^= std::byte{0x10};
}

class StoreDamage : public testing::Test {
 protected:
  /// Version 0 is in the image, a delta to 1 in the store.
  MemoryStore& with_one_delta() {
    store_.publish(0);
    store_.pull(image_);
    store_.publish(1);
    return store_;
  }
  MemoryStore store_{options_of(UpdateMode::delta, TransferType::bf16), 1, usual_density};
  Image image_{store_.catalogue};
};

TEST_F(StoreDamage, a_damaged_delta_leads_to_a_full_pull) {
  MemoryStore& store = with_one_delta();
  store.fold_all();
  flip(store, store.layout.frames_offset(store.layout.regions_of_buffer(0)[0], 0) + 200);
  const PullResult result = store.pull(image_);
  EXPECT_EQ(result.kind, PullResult::Kind::full);
  EXPECT_EQ(result.retries, 1);
  EXPECT_TRUE(store.same_as(1, image_, usual_density));
}

TEST_F(StoreDamage, a_damaged_full_image_is_noticed_and_put_again) {
  MemoryStore& store = store_;
  store.publish(0);
  flip(store, store.layout.slot_offset(0, 0) + 12345);
  EXPECT_THROW(store.pull(image_), PullFailed);
  EXPECT_FALSE(image_.version().valid());
  EXPECT_EQ(store.publish(1).kind, PublishResult::Kind::full);
  store.pull(image_);
  EXPECT_TRUE(store.same_as(1, image_, usual_density));
  EXPECT_EQ(store.publish(2).kind, PublishResult::Kind::delta);
}

TEST_F(StoreDamage, damaged_digests_are_noticed) {
  MemoryStore& store = with_one_delta();
  flip(store, store.layout.entry_digests_offset(0, 0) + 3);
  EXPECT_THROW(store.pull(image_), PullFailed);
}

TEST_F(StoreDamage, a_delta_that_does_not_fold_makes_the_next_publish_full) {
  MemoryStore& store = with_one_delta();
  flip(store, store.layout.frames_offset(store.layout.regions_of_buffer(0)[0], 0) + 200);
  store.fold_all();
  EXPECT_EQ(store.stores[0]->folded(), base::WeightVersion(0));
  EXPECT_FALSE(store.stores[0]->advance());
  EXPECT_EQ(store.publish(2).kind, PublishResult::Kind::full);
  store.pull(image_);
  EXPECT_TRUE(store.same_as(2, image_, usual_density));
}

TEST_F(StoreDamage, lengths_beyond_their_place_are_not_followed) {
  MemoryStore& store = with_one_delta();
  const std::uint64_t huge = std::uint64_t{1} << 60;
  std::memcpy(store.windows[0].span().data() + store.layout.lengths_offset(0, 0), &huge, 8);
  EXPECT_THROW(store.pull(image_), PullFailed);
  store.fold_all();
  EXPECT_EQ(store.stores[0]->folded(), base::WeightVersion(0));
}

TEST_F(StoreDamage, an_image_that_is_not_what_it_says_is_replaced) {
  MemoryStore& store = with_one_delta();
  // Somebody else's bytes: no digests came with them.
  image_.set_version(image_.version());
  image_.bytes()[100] ^= std::byte{1};
  const PullResult result = store.pull(image_);
  EXPECT_EQ(result.kind, PullResult::Kind::full);
  EXPECT_TRUE(store.same_as(1, image_, usual_density));
}

/// A bit that flips between two pulls, in an element that the delta leaves alone.
class BitAtRest : public testing::Test {
 protected:
  static WeightOptions with(PullCheck check) {
    WeightOptions options = options_of(UpdateMode::delta, TransferType::bf16);
    options.pull_check = check;
    return options;
  }
  /// Version 1 by a delta, into an image of version 0 with one bit wrong.
  static PullResult pull_into_damaged(MemoryStore& store, Image& image) {
    store.publish(0);
    store.pull(image);
    const Image before = store.weights.image();
    store.publish(1);
    const Image after = store.weights.image();
    std::size_t alone = 0;
    while (before.bytes()[alone] != after.bytes()[alone]) alone += 2;
    image.bytes()[alone] ^= std::byte{1};
    return store.pull(image);
  }
};

/// What a digest that follows the changes cannot say, and who says it.
TEST_F(BitAtRest, is_not_seen_by_a_delta_but_by_the_next_full_image) {
  MemoryStore store(with(PullCheck::changes), 1, usual_density);
  Image image(store.catalogue);
  EXPECT_EQ(pull_into_damaged(store, image).kind, PullResult::Kind::delta);
  EXPECT_FALSE(store.same_as(1, image, usual_density));
  store.publish_full(2);
  EXPECT_EQ(store.pull(image).kind, PullResult::Kind::full);
  EXPECT_TRUE(store.same_as(2, image, usual_density));
}

TEST_F(BitAtRest, is_seen_where_every_byte_is_looked_at) {
  MemoryStore store(with(PullCheck::every_byte), 1, usual_density);
  Image image(store.catalogue);
  const PullResult result = pull_into_damaged(store, image);
  EXPECT_EQ(result.kind, PullResult::Kind::full);
  EXPECT_EQ(result.failures, 1);
  EXPECT_TRUE(store.same_as(1, image, usual_density));
}

TEST_F(StoreDamage, a_window_of_another_layout_is_refused) {
  MemoryStore& store = with_one_delta();
  store.buffer_access.store(0, StoreWords::layout, 1);
  EXPECT_THROW(store.pull(image_), base::WorldError);
}

}  // namespace
}  // namespace physarum::weights
