// What is noted while weights change gives the frames that comparing two images gives.
#include "physarum/weights/change_log.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "physarum/weights/convert.hpp"
#include "physarum/weights/delta_codec.hpp"

#include "block_digests.hpp"
#include "memory_store.hpp"

namespace physarum::weights {
namespace {

using base::Bytes;
const DeltaStep noted_step{base::WeightVersion(5), base::WeightVersion(6)};
constexpr std::int64_t any_capacity = std::int64_t{1} << 40;

/// Weights of several frames that change at random, and a log for each trainer rank.
class NotedSteps {
 public:
  NotedSteps(TransferType type, int trainers, std::uint64_t seed)
      : catalogue_(test::small_catalogue(type, 9'001)),
        random_(seed),
        masters_(static_cast<std::size_t>(catalogue_->total_elements())) {
    for (float& value : masters_) value = anything();
    const StoreShards shares(catalogue_->total_bytes(), trainers);
    for (int trainer = 0; trainer < trainers; ++trainer) {
      const Range bytes = shares.of(trainer);
      shares_.push_back({bytes.begin / width(), bytes.end / width()});
      logs_.emplace_back(type, shares_.back());
      values_.emplace_back(masters_.size());
    }
    bring({0, std::ssize(masters_)});
    open();
  }
  void open() {
    published_ = masters_;
    for (ChangeLog& log : logs_) log.open();
  }
  /// `density` of the elements get a new value; some of them the one that was published.
  void step(double density) {
    change(density);
    bring({0, std::ssize(masters_)});
  }
  /// The same in pieces of any size, as in an optimiser.
  void step_in_pieces(double density) {
    change(density);
    for (std::int64_t at = 0; at < std::ssize(masters_);) {
      const std::int64_t to =
          std::min(std::ssize(masters_), at + 1 + static_cast<std::int64_t>(random_() % 5000));
      bring({at, to});
      at = to;
    }
  }
  void expect_frames_of_two_images() {
    Image was(catalogue_), is(catalogue_);
    was.assign(published_);
    is.assign(masters_);
    for (std::size_t i = 0; i < logs_.size(); ++i) {
      const Range bytes{shares_[i].begin * width(), shares_[i].end * width()};
      const auto before = slice(was.bytes(), bytes), after = slice(is.bytes(), bytes);
      std::vector<base::Digest> digests, expected_digests;
      make_block_digests(before, digests, team_);
      make_block_digests(after, expected_digests, team_);
      DeltaEncoder encoder(catalogue_->type(), &team_);
      Bytes expected, frames;
      const auto changed =
          encoder.encode(before, after, shares_[i].begin, noted_step, any_capacity, expected);
      ASSERT_EQ(encoder.encode_noted(logs_[i].notes(), share_of(i), shares_[i].begin, noted_step,
                                     any_capacity, frames, digests),
                changed);
      EXPECT_TRUE(frames == expected) << "rank " << i;
      EXPECT_EQ(digests, expected_digests);
    }
  }
  [[nodiscard]] double density(std::size_t trainer) {
    return logs_[trainer].density(share_of(trainer));
  }
  [[nodiscard]] std::span<const BlockNote> notes(std::size_t trainer) const {
    return logs_[trainer].notes();
  }

 private:
  [[nodiscard]] std::int64_t width() const { return element_bytes(catalogue_->type()); }
  [[nodiscard]] std::span<const float> share_of(std::size_t trainer) const {
    return slice(std::span(values_[trainer]), shares_[trainer]);
  }
  void change(double density) {
    std::bernoulli_distribution hit(density);
    for (std::size_t i = 0; i < masters_.size(); ++i) {
      if (hit(random_)) masters_[i] = next(i);
    }
  }
  /// On every rank, whose values all become what they round to.
  void bring(Range elements) {
    std::vector<float> rounded(static_cast<std::size_t>(elements.size()));
    round_to_transfer(slice(std::span(std::as_const(masters_)), elements), catalogue_->type(),
                      rounded);
    for (std::size_t i = 0; i < logs_.size(); ++i) {
      logs_[i].update(values_[i], masters_, elements);
      const auto values = slice(std::span(values_[i]), elements);
      ASSERT_EQ(std::memcmp(values.data(), rounded.data(), values.size_bytes()), 0);
    }
  }
  float anything() { return std::bit_cast<float>(static_cast<std::uint32_t>(random_())); }
  float next(std::size_t place) {
    constexpr float specials[] = {0.0F, -0.0F, 1e-45F, -1e-45F, INFINITY, -INFINITY, NAN, -NAN};
    const auto bits = std::bit_cast<std::uint32_t>(masters_[place]);
    switch (random_() % 5) {
      case 0:
        return anything();
      case 1:
        return specials[random_() % std::size(specials)];
      case 2:
        return published_[place];
      case 3:
        return std::bit_cast<float>(bits + 1);  // rounds to the same, mostly
      default:
        return std::bit_cast<float>(bits + (1U << 16));
    }
  }

  CataloguePtr catalogue_;
  std::mt19937_64 random_;
  std::vector<float> masters_;
  std::vector<std::vector<float>> values_;  // by rank
  std::vector<float> published_;
  std::vector<Range> shares_;
  std::vector<ChangeLog> logs_;
  base::ThreadTeam team_{2};
};

class NotedChanges : public testing::TestWithParam<std::tuple<TransferType, int>> {
 protected:
  NotedSteps steps{std::get<0>(GetParam()), std::get<1>(GetParam()), 71};
};

TEST_P(NotedChanges, of_one_step_give_the_frames_of_two_images) {
  for (const double density : {0.0, 0.0001, 0.01, 0.3, 0.5, 1.0}) {
    SCOPED_TRACE(density);
    steps.open();
    steps.step(density);
    steps.expect_frames_of_two_images();
    steps.open();
    steps.step_in_pieces(density);
    steps.expect_frames_of_two_images();
  }
}

TEST_P(NotedChanges, of_several_steps_give_the_frames_of_two_images) {
  for (const double density : {0.0001, 0.02, 0.15, 0.6}) {
    SCOPED_TRACE(density);
    steps.open();
    for (int step = 0; step < 4; ++step) {
      step % 2 == 0 ? steps.step(density) : steps.step_in_pieces(density);
      steps.expect_frames_of_two_images();
    }
  }
}

TEST_P(NotedChanges, know_how_many_they_are) {
  for (const double density : {0.0, 0.01, 0.2, 1.0}) {
    steps.open();
    steps.step(density);
    // Of the new values one in five is the old one, and another rounds to it.
    EXPECT_LE(steps.density(0), density);
    EXPECT_GE(steps.density(0), 0.5 * density);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, NotedChanges,
                         testing::Combine(testing::Values(TransferType::bf16, TransferType::f32),
                                          testing::Values(1, 2, 3)));

TEST(ChangeLog, keeps_few_changes_and_blocks_as_they_were_where_there_are_many) {
  NotedSteps steps(TransferType::bf16, 1, 5);
  steps.step(0.01);
  for (const BlockNote& note : steps.notes(0)) EXPECT_NE(note.count, BlockNote::dense);
  steps.step(0.9);
  for (const BlockNote& note : steps.notes(0)) EXPECT_EQ(note.count, BlockNote::dense);
}

TEST(ChangeLog, notes_nothing_before_it_is_opened_nor_after_it_was_closed) {
  ChangeLog log(TransferType::bf16, {0, 100});
  std::vector<float> values(100);
  const std::vector<float> ones(100, 1.0F), twos(100, 2.0F), threes(100, 3.0F);
  log.update(values, ones, {0, 100});
  log.open();
  EXPECT_EQ(log.density(values), 0);
  log.close();
  log.update(values, twos, {0, 100});
  EXPECT_EQ(values, twos);
  EXPECT_EQ(log.density(values), 0);
  log.open();
  log.update(values, threes, {0, 10});
  EXPECT_DOUBLE_EQ(log.density(values), 0.1);
}

TEST(ChangeLog, of_a_rank_without_a_share_is_empty) {
  ChangeLog log(TransferType::bf16, {100, 100});
  log.open();
  std::vector<float> values(100);
  const std::vector<float> ones(100, 1.0F);
  log.update(values, ones, {0, 100});
  EXPECT_EQ(values, ones);
  EXPECT_TRUE(log.notes().empty());
  EXPECT_EQ(log.density({}), 0);
}

TEST(ChangeLog, a_version_of_several_steps_is_what_engines_get) {
  test::MemoryStore store(test::options_of(UpdateMode::delta, TransferType::bf16), 2, 0.05);
  store.publish(0);
  Image image(store.catalogue);
  store.pull(image);
  for (const std::int64_t version : {3, 4, 9}) {
    for (std::int64_t step = store.weights.version() + 1; step < version; ++step) {
      store.weights.advance_to(step);
      store.noted->note(store.weights.flat());
    }
    EXPECT_EQ(store.publish(version).kind, PublishResult::Kind::delta);
    store.pull(image);
    EXPECT_TRUE(store.same_as(version, image, 0.05));
  }
}

TEST(ChangeLog, a_change_that_nobody_noted_is_seen_at_the_next_publish) {
  if (!base::contracts_enabled) GTEST_SKIP() << "built without contracts";
  test::MemoryStore store(test::options_of(UpdateMode::delta, TransferType::bf16), 1, 0.05);
  store.publish(0);
  store.weights.advance_to(1);
  EXPECT_THROW(store.publisher->publish(base::WeightVersion(1), store.weights.flat(),
                                        base::Deadline::in(10)),
               base::ContractViolation);
  // And then everything goes out.
  EXPECT_EQ(store.publish(2).kind, PublishResult::Kind::full);
}

}  // namespace
}  // namespace physarum::weights
