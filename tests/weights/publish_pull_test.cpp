#include <filesystem>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "block_digests.hpp"
#include "memory_store.hpp"

namespace physarum::weights {
namespace {

using test::MemoryStore;
using test::options_of;
using test::usual_density;
using Publish = PublishResult::Kind;
using Pull = PullResult::Kind;

std::int64_t threads_now() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}
/// From the first thread on a sanitizer has one of its own.
std::int64_t threads_besides_one() {
  std::promise<void> counted;
  std::thread one([&] { counted.get_future().wait(); });
  const std::int64_t others = threads_now() - 1;
  counted.set_value();
  one.join();
  return others;
}
const std::int64_t idle_threads = threads_besides_one();

/// A thread that was joined is still listed for a moment.
bool threads_become(std::int64_t count) {
  const auto deadline = base::Deadline::in(10);
  while (threads_now() != count && !deadline.expired()) std::this_thread::yield();
  return threads_now() == count;
}

struct Case {
  TransferType type;
  int buffers;
};

class PublishPull : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static MemoryStore make(UpdateMode mode, std::int64_t ring = 4) {
    return {options_of(mode, GetParam().type, ring), GetParam().buffers, usual_density};
  }
};

TEST_P(PublishPull, nothing_is_there_before_the_first_publish) {
  auto store = make(UpdateMode::delta);
  Image image(store.catalogue);
  EXPECT_FALSE(store.puller->newest().valid());
  EXPECT_EQ(store.pull(image).kind, Pull::unavailable);
  EXPECT_FALSE(store.stores[0]->advance());
}

TEST_P(PublishPull, full_mode_brings_every_version) {
  auto store = make(UpdateMode::full);
  Image image(store.catalogue);
  for (std::int64_t version = 0; version < 5; ++version) {
    EXPECT_EQ(store.publish(version).kind, Publish::full);
    const PullResult result = store.pull(image);
    EXPECT_EQ(result.kind, Pull::full);
    EXPECT_GE(result.wire_bytes, store.catalogue->total_bytes());
    EXPECT_TRUE(store.same_as(version, image, usual_density));
  }
  EXPECT_EQ(store.pull(image).kind, Pull::current);
}

TEST_P(PublishPull, deltas_bring_every_version_with_few_bytes) {
  auto store = make(UpdateMode::delta);
  Image image(store.catalogue);
  EXPECT_EQ(store.publish(0).kind, Publish::full);
  EXPECT_EQ(store.pull(image).kind, Pull::full);
  for (std::int64_t version = 1; version < 12; ++version) {
    const PublishResult published = store.publish(version);
    EXPECT_EQ(published.kind, Publish::delta);
    EXPECT_NEAR(published.density, usual_density, usual_density / 5);
    EXPECT_LT(published.wire_bytes, store.catalogue->total_bytes() / 20);
    const PullResult pulled = store.pull(image);
    EXPECT_EQ(pulled.kind, Pull::delta);
    EXPECT_EQ(pulled.deltas, 1);
    EXPECT_EQ(pulled.failures, 0);
    EXPECT_LT(pulled.wire_bytes, store.catalogue->total_bytes() / 20);
    EXPECT_TRUE(store.same_as(version, image, usual_density));
    store.fold_all();
    EXPECT_EQ(store.stores[0]->folded(), base::WeightVersion(version));
    EXPECT_EQ(store.stores[0]->newest(), base::WeightVersion(version));
  }
}

TEST_P(PublishPull, a_chain_of_deltas_is_applied_in_order) {
  auto store = make(UpdateMode::delta);
  Image image(store.catalogue);
  store.publish(0);
  store.pull(image);
  for (std::int64_t version = 1; version <= 4; ++version) store.publish(version);
  const PullResult result = store.pull(image);
  EXPECT_EQ(result.kind, Pull::delta);
  EXPECT_EQ(result.deltas, 4);
  EXPECT_TRUE(store.same_as(4, image, usual_density));
}

TEST_P(PublishPull, too_far_behind_takes_the_full_image_and_what_followed_it) {
  auto store = make(UpdateMode::delta, 3);
  Image image(store.catalogue);
  store.publish(0);
  store.pull(image);
  for (std::int64_t version = 1; version <= 7; ++version) {
    EXPECT_EQ(store.publish(version).kind, Publish::delta);
    if (version < 7) store.fold_all();  // the last delta stays unfolded
  }
  const PullResult result = store.pull(image);
  EXPECT_EQ(result.kind, Pull::full);
  EXPECT_EQ(result.deltas, 1);
  EXPECT_TRUE(store.same_as(7, image, usual_density));
}

TEST_P(PublishPull, an_engine_that_starts_late_needs_no_full_publish) {
  auto store = make(UpdateMode::delta);
  store.publish(0);
  for (std::int64_t version = 1; version <= 9; ++version) {
    EXPECT_EQ(store.publish(version).kind, Publish::delta);
    store.fold_all();
  }
  Image late(store.catalogue);
  EXPECT_EQ(store.pull(late).kind, Pull::full);
  EXPECT_TRUE(store.same_as(9, late, usual_density));
}

TEST_P(PublishPull, a_store_that_falls_behind_gets_the_full_image) {
  auto store = make(UpdateMode::delta, 2);
  Image image(store.catalogue);
  EXPECT_EQ(store.publish(0).kind, Publish::full);
  EXPECT_EQ(store.publish(1).kind, Publish::delta);
  EXPECT_EQ(store.publish(2).kind, Publish::delta);
  EXPECT_EQ(store.publish(3).kind, Publish::delta);
  EXPECT_EQ(store.publish(4).kind, Publish::full);  // nobody folded 1
  EXPECT_EQ(store.pull(image).kind, Pull::full);
  EXPECT_TRUE(store.same_as(4, image, usual_density));
  EXPECT_EQ(store.publish(5).kind, Publish::delta);
  EXPECT_EQ(store.pull(image).kind, Pull::delta);
  EXPECT_TRUE(store.same_as(5, image, usual_density));
}

TEST_P(PublishPull, versions_may_leave_numbers_out) {
  auto store = make(UpdateMode::delta);
  Image image(store.catalogue);
  Image slow(store.catalogue);
  EXPECT_EQ(store.publish(5).kind, Publish::full);  // a resumed run
  store.pull(image);
  store.pull(slow);
  for (const std::int64_t version : {8, 10, 17}) {
    EXPECT_EQ(store.publish(version).kind, Publish::delta);
    store.fold_all();
    EXPECT_EQ(store.pull(image).kind, Pull::delta);
    EXPECT_TRUE(store.same_as(version, image, usual_density));
  }
  EXPECT_EQ(store.pull(slow, 9).kind, Pull::unavailable);
  EXPECT_EQ(store.pull(slow, 10).deltas, 2);
  EXPECT_TRUE(store.same_as(10, slow, usual_density));
  EXPECT_EQ(store.pull(slow).deltas, 1);
  EXPECT_TRUE(store.same_as(17, slow, usual_density));
}

TEST_P(PublishPull, every_so_many_versions_one_goes_out_in_full) {
  auto options = options_of(UpdateMode::delta, GetParam().type);
  options.full_interval = 3;
  MemoryStore store(options, GetParam().buffers, usual_density);
  Image image(store.catalogue);
  for (std::int64_t version = 0; version < 8; ++version) {
    EXPECT_EQ(store.publish(version).kind, version % 3 == 0 ? Publish::full : Publish::delta);
    store.fold_all();
    store.pull(image);
    EXPECT_TRUE(store.same_as(version, image, usual_density));
  }
}

TEST_P(PublishPull, exactly_one_version_can_be_asked_for) {
  auto store = make(UpdateMode::delta);
  Image image(store.catalogue);
  store.publish(0);
  store.publish(1);
  store.publish(2);
  EXPECT_EQ(store.pull(image, 3).kind, Pull::unavailable);
  EXPECT_FALSE(image.version().valid());
  EXPECT_EQ(store.pull(image, 2).kind, Pull::full);
  Image other(store.catalogue);
  EXPECT_EQ(store.pull(other).version, base::WeightVersion(2));
  store.publish(3);
  store.publish(4);
  EXPECT_EQ(store.pull(image, 3).kind, Pull::delta);
  EXPECT_TRUE(store.same_as(3, image, usual_density));
  EXPECT_EQ(store.pull(image, 1).kind, Pull::unavailable);
  EXPECT_TRUE(store.same_as(3, image, usual_density));
}

TEST_P(PublishPull, the_version_before_the_newest_is_still_there_in_full_mode) {
  auto store = make(UpdateMode::full);
  Image image(store.catalogue);
  for (std::int64_t version = 0; version < 4; ++version) store.publish(version);
  EXPECT_EQ(store.pull(image, 2).kind, Pull::full);
  EXPECT_TRUE(store.same_as(2, image, usual_density));
  EXPECT_EQ(store.pull(image, 1).kind, Pull::unavailable);
}

TEST_P(PublishPull, may_go_in_slices) {
  auto store = make(UpdateMode::delta);
  Image image(store.catalogue);
  store.publish(0);
  store.publish(1);
  store.puller->begin(image);
  int turns = 0;
  while (!store.puller->advance(100000, base::Deadline::in(10))) ++turns;
  EXPECT_GE(turns, 2);
  EXPECT_FALSE(store.puller->active());
  EXPECT_TRUE(store.same_as(1, image, usual_density));
}

TEST_P(PublishPull, threads_bring_the_same_bytes) {
  const auto run = [&](std::int64_t threads) {
    WeightOptions options = options_of(UpdateMode::delta, GetParam().type);
    options.threads = threads;
    MemoryStore store(options, GetParam().buffers, usual_density);
    // The trainer and the engine each are one of their threads.
    EXPECT_TRUE(threads_become(idle_threads + 2 * (threads - 1)));
    Image image(store.catalogue);
    std::int64_t bytes = 0;
    for (std::int64_t version = 0; version < 3; ++version) {
      bytes += store.publish(version).wire_bytes;
      bytes += store.pull(image).wire_bytes;
      EXPECT_TRUE(store.same_as(version, image, usual_density));
    }
    return bytes;
  };
  EXPECT_EQ(run(1), run(3));
}

TEST_P(PublishPull, no_more_than_the_buffer_is_under_way) {
  const auto most_of = [](std::int64_t buffer_bytes) {
    WeightOptions options = options_of(UpdateMode::delta, GetParam().type);
    options.buffer_bytes = buffer_bytes;
    MemoryStore store(options, GetParam().buffers, usual_density);
    Image image(store.catalogue);
    store.publish(0);
    store.pull(image);
    EXPECT_TRUE(store.same_as(0, image, usual_density));
    return std::pair(store.trainer_access.most_under_way, store.engine_access.most_under_way);
  };
  EXPECT_EQ(most_of(65536), std::pair(std::size_t{65536}, std::size_t{65536}));
  const auto [put, got] = most_of(std::int64_t{64} << 20);
  EXPECT_GT(put, std::size_t{300000});
  EXPECT_GT(got, std::size_t{300000});
}

TEST_P(PublishPull, may_be_given_up_before_the_image_changes) {
  auto store = make(UpdateMode::delta);
  Image image(store.catalogue);
  store.publish(0);
  store.pull(image);
  store.publish(1);
  store.puller->begin(image);
  EXPECT_FALSE(store.puller->advance(1, base::Deadline::in(10)));  // words and heads only
  store.puller->abandon();
  EXPECT_FALSE(store.puller->active());
  EXPECT_TRUE(store.same_as(0, image, usual_density));
  store.puller->abandon();  // nothing to give up
  EXPECT_EQ(store.pull(image).kind, Pull::delta);
  EXPECT_TRUE(store.same_as(1, image, usual_density));
}

/// A pull goes on from the digests that the one before it left, whatever that was.
TEST_P(PublishPull, leaves_the_digests_of_the_images_blocks) {
  auto store = make(UpdateMode::delta);
  Image image(store.catalogue);
  base::ThreadTeam alone(1);
  std::vector<base::Digest> expected;
  for (const std::int64_t version : {0, 1, 2, 5, 20, 21}) {
    store.publish(version);
    store.fold_all();
    if (version == 2) continue;  // two deltas at once
    if (version == 20) image.set_version({});
    EXPECT_EQ(store.pull(image).failures, 0);
    make_block_digests(image.bytes(), expected, alone);
    EXPECT_EQ(image.block_digests(), expected) << version;
  }
  image.set_version(image.version());
  EXPECT_TRUE(image.block_digests().empty()) << "whoever sets a version may have set bytes";
}

TEST_P(PublishPull, given_up_half_way_leaves_an_image_without_version) {
  auto store = make(UpdateMode::delta);
  Image image(store.catalogue);
  store.publish(0);
  store.pull(image);
  image.set_version({});
  store.puller->begin(image);
  EXPECT_FALSE(store.puller->advance(100000, base::Deadline::in(10)));
  store.puller->abandon();
  EXPECT_FALSE(image.version().valid());
  EXPECT_EQ(store.pull(image).kind, Pull::full);
  EXPECT_TRUE(store.same_as(0, image, usual_density));
}

INSTANTIATE_TEST_SUITE_P(Types, PublishPull,
                         testing::Values(Case{TransferType::bf16, 1}, Case{TransferType::bf16, 2},
                                         Case{TransferType::f32, 1}, Case{TransferType::f32, 3}),
                         [](const auto& test_case) {
                           return std::string(test_case.param.type == TransferType::bf16 ? "bf16"
                                                                                         : "f32") +
                                  "_" + std::to_string(test_case.param.buffers);
                         });

TEST(PublishPullDense, when_all_elements_change_the_full_image_goes_out) {
  MemoryStore store(options_of(UpdateMode::delta, TransferType::bf16), 2, 3.0);
  Image image(store.catalogue);
  store.publish(0);
  EXPECT_EQ(store.publish(1).kind, Publish::full);
  EXPECT_EQ(store.publish(1 + 1).density, 1.0);
  EXPECT_EQ(store.pull(image).kind, Pull::full);
  EXPECT_TRUE(store.same_as(2, image, 3.0));
}

TEST(PublishPullDense, an_unchanged_version_costs_its_digests) {
  MemoryStore store(options_of(UpdateMode::delta, TransferType::bf16), 1, 0.0);
  Image image(store.catalogue);
  store.publish(0);
  store.pull(image);
  const PublishResult published = store.publish(1);
  EXPECT_EQ(published.density, 0.0);
  EXPECT_LT(published.wire_bytes, 200);
  EXPECT_EQ(store.pull(image).kind, Pull::delta);
  EXPECT_EQ(image.version(), base::WeightVersion(1));
}

}  // namespace
}  // namespace physarum::weights
