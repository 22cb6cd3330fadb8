#include "group_store.hpp"

#include <set>

#include <gtest/gtest.h>

#include "sample/builders.hpp"

namespace physarum::buffer {
namespace {

namespace st = sample::testing;
using exchange::ReleaseReason;
using Put = GroupStore::Put;

TEST(GroupStore, takes_each_group_once) {
  GroupStore store(4);
  EXPECT_EQ(store.put(st::make_group(1, 2)), Put::stored);
  EXPECT_EQ(store.put(st::make_group(1, 2)), Put::repeated);
  const std::vector ids = {GroupId(1)};
  store.release(ids, ReleaseReason::done);
  EXPECT_EQ(store.put(st::make_group(1, 2)), Put::repeated);
  EXPECT_EQ(store.size(), 0);
}

TEST(GroupStore, takes_a_group_again_if_it_is_to_be_generated_again) {
  GroupStore store(4);
  EXPECT_EQ(store.put(st::make_group(1, 2)), Put::stored);
  const std::vector ids = {GroupId(1)};
  store.release(ids, ReleaseReason::again);
  EXPECT_EQ(store.put(st::make_group(1, 2)), Put::stored);
}

TEST(GroupStore, is_bounded_for_training_and_not_for_evaluation) {
  GroupStore store(2);
  EXPECT_EQ(store.put(st::make_group(1, 2)), Put::stored);
  auto exam = st::make_group(8, 2);
  exam.purpose = sample::Purpose::evaluate;
  EXPECT_EQ(store.put(exam), Put::stored);
  EXPECT_EQ(store.put(st::make_group(2, 2)), Put::stored);
  EXPECT_EQ(store.put(st::make_group(3, 2)), Put::full);
  const std::vector ids = {GroupId(8)};
  store.release(ids, ReleaseReason::done);
  EXPECT_EQ(store.put(st::make_group(3, 2)), Put::full);
}

TEST(GroupStore, finds_samples_by_group_and_id) {
  GroupStore store(4);
  (void)store.put(st::make_group(1, 3));
  (void)store.put(st::make_group(0, 3));
  EXPECT_EQ(store.find({GroupId(1), base::SampleId(4)})->id, base::SampleId(4));
  EXPECT_EQ(store.find({GroupId(1), base::SampleId(9)}), nullptr);
  EXPECT_EQ(store.find({GroupId(7), base::SampleId(4)}), nullptr);
  const std::vector ids = {GroupId(1), GroupId(0), GroupId(5)};
  const auto samples = store.samples(ids);
  ASSERT_EQ(samples.size(), 6u);
  EXPECT_EQ(samples.front()->id, base::SampleId(0));
  EXPECT_EQ(samples.back()->id, base::SampleId(5));
}

TEST(IdSet, agrees_with_a_plain_set_and_merges_neighbours) {
  IdSet ids;
  std::set<std::int64_t> plain;
  for (std::int64_t i = 0; i < 400; ++i) {
    const auto id = st::draw(1, i, 0, 0, 200);
    ids.insert(id);
    plain.insert(id);
  }
  for (std::int64_t id = -2; id < 204; ++id) EXPECT_EQ(ids.contains(id), plain.contains(id)) << id;
  for (std::int64_t id = 0; id <= 200; ++id) ids.insert(id);
  EXPECT_EQ(ids.intervals(), 1u);
}

}  // namespace
}  // namespace physarum::buffer
