// A run that goes on from a snapshot is the run that was interrupted, whatever the modes and ranks.
#include <algorithm>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/storage/file.hpp"

#include "buffer/circle.hpp"
#include "support/temporary_directory.hpp"

namespace physarum::buffer {
namespace {

using namespace testing;

std::vector<sample::Sample> plain_batch(const Circle& circle, std::int64_t step) {
  return without_leases(circle.batch(step));
}

std::shared_ptr<const BufferState> through_a_file(const BufferState& state,
                                                  const test::TemporaryDirectory& directory) {
  const parallel::Communicator alone;
  const storage::Format format{"physarum.test", 1};
  auto file = storage::File::create(directory / "state.h5", alone, format);
  state.write(file);
  file.close();
  return std::make_shared<BufferState>(
      BufferState::read(storage::File::open_read(directory / "state.h5", format)));
}

struct Case {
  Mode mode;
  int buffers;
  int resumed_buffers;
};

class Restart : public ::testing::TestWithParam<Case> {};

TEST_P(Restart, goes_on_with_the_same_batches) {
  const auto& given = GetParam();
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    auto options = small_circle(given.mode);
    options.buffers = given.buffers;
    options.trainers = 2;
    options.engines = 2;
    options.num_rollout = 6;
    options.seed = seed;
    options.evaluation_prompts = {3};
    options.buffer.eval_interval = 3;
    options.save_at = 3;
    Circle whole(options);
    ASSERT_TRUE(whole.run());
    ASSERT_TRUE(whole.trainers->snapshots.contains(3));
    const test::TemporaryDirectory directory;
    auto again = options;
    again.resumed = through_a_file(whole.trainers->snapshots.at(3), directory);
    EXPECT_EQ(again.resumed->encode(), whole.trainers->snapshots.at(3).encode());
    EXPECT_EQ(again.resumed->step, 3);
    again.first_step = 3;
    again.save_at = -1;
    again.buffers = given.resumed_buffers;
    again.trainers = 1;
    again.engines = 3;
    again.seed = seed + 100;  // another order of everything
    Circle rest(again);
    ASSERT_TRUE(rest.run());
    for (std::int64_t step = 3; step < 6; ++step)
      EXPECT_EQ(plain_batch(rest, step), plain_batch(whole, step)) << "step " << step;
    EXPECT_EQ(rest.evaluation_metrics.at(3), whole.evaluation_metrics.at(3));
    EXPECT_EQ(rest.evaluation_metrics.at(6), whole.evaluation_metrics.at(6));
    EXPECT_EQ(rest.counters().malformed_messages, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Restart,
                         ::testing::Values(Case{Mode::sync, 1, 1}, Case{Mode::sync, 2, 1},
                                           Case{Mode::sync, 1, 2}, Case{Mode::one_step_async, 1, 1},
                                           Case{Mode::one_step_async, 2, 1},
                                           Case{Mode::one_step_async, 1, 3}));

/// In async mode chance decides what a batch holds; but no group is lost or learnt from twice, and
/// nothing is older than it may be.
TEST(Restart, async_loses_nothing_and_takes_nothing_twice) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    auto options = small_circle(Mode::async);
    options.buffer.max_weight_staleness = 2;
    options.engines = 3;
    options.num_rollout = 8;
    options.seed = seed;
    options.save_at = 3;
    Circle before(options);
    ASSERT_TRUE(before.run());
    auto again = options;
    const test::TemporaryDirectory directory;
    again.resumed = through_a_file(before.trainers->snapshots.at(3), directory);
    again.first_step = 3;
    again.save_at = -1;
    again.seed = seed + 100;
    Circle after(again);
    ASSERT_TRUE(after.run());
    std::multiset<std::int64_t> groups;
    for (std::int64_t step = 0; step < 8; ++step) {
      const auto batch = step < 3 ? before.batch(step) : after.batch(step);
      EXPECT_EQ(batch.size(), 8U);
      for (const auto& one : batch) {
        if (one.index_in_group == 0) groups.insert(one.group.value());
        EXPECT_LE(step - one.oldest_version().value(), 2) << "too old";
      }
    }
    EXPECT_EQ(groups.size(), 32U);
    const std::set<std::int64_t> distinct(groups.begin(), groups.end());
    EXPECT_EQ(distinct.size(), 32U) << "a group was learnt from twice";
    // Nothing but the last few, which the end of the run cuts off, may be missing.
    EXPECT_LT(*distinct.rbegin(), 32 + options.buffer.capacity_groups());
    const bool had_state = !again.resumed->open.empty();
    EXPECT_TRUE(had_state) << "nothing was open: the test shows nothing";
  }
}

TEST(Restart, a_stop_is_the_same_for_all_trainers_and_loses_nothing) {
  for (const Mode mode : {Mode::sync, Mode::one_step_async}) {
    int stops = 0;
    for (std::int64_t turn = 1; turn < 200; turn += 13) {
      auto options = small_circle(mode);
      options.trainers = 2;
      options.num_rollout = 5;
      options.evaluation_prompts = {3};
      options.buffer.eval_interval = 2;
      Circle whole(options);
      ASSERT_TRUE(whole.run());
      Circle stopped(options);
      for (std::int64_t i = 0; i < turn; ++i) stopped.turn();
      stopped.head().ask_stop();
      ASSERT_TRUE(stopped.run()) << "asked to stop in turn " << turn;
      if (!stopped.trainers->stopped_at) continue;  // it came after the last batch
      ++stops;
      const std::int64_t at = *stopped.trainers->stopped_at;
      auto again = options;
      again.resumed = std::make_shared<BufferState>(stopped.trainers->snapshots.at(at));
      again.first_step = at;
      Circle rest(again);
      ASSERT_TRUE(rest.run());
      for (std::int64_t step = 0; step < 5; ++step) {
        EXPECT_EQ(plain_batch(step < at ? stopped : rest, step), plain_batch(whole, step));
      }
      for (const auto& [version, metrics] : whole.evaluation_metrics) {
        const auto& run = rest.evaluation_metrics.contains(version) ? rest : stopped;
        EXPECT_EQ(run.evaluation_metrics.at(version), metrics) << version;
      }
    }
    EXPECT_GT(stops, 3);
  }
}

TEST(Restart, a_trigger_file_asks_for_a_snapshot) {
  const test::TemporaryDirectory directory;
  auto options = small_circle();
  options.save_trigger = directory / "save-now";
  options.turn_s = 0.2;
  Circle circle(options);
  for (int i = 0; i < 40; ++i) circle.turn();
  EXPECT_TRUE(circle.trainers->snapshots.empty());
  std::ofstream(options.save_trigger).put('x');
  ASSERT_TRUE(circle.run());
  EXPECT_EQ(circle.trainers->snapshots.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(options.save_trigger));
  EXPECT_FALSE(circle.trainers->stopped_at);
}

TEST(BufferState, hostile_bytes_are_malformed) {
  auto options = small_circle(Mode::async);
  options.buffer.max_weight_staleness = 2;
  options.save_at = 2;
  Circle circle(options);
  ASSERT_TRUE(circle.run());
  const auto good = circle.trainers->snapshots.at(2).encode();
  for (std::size_t length = 0; length < good.size(); length += 7) {
    EXPECT_THROW((void)BufferState::decode(std::span(good).first(length)), base::MalformedBytes);
  }
  for (std::int64_t round = 0; round < 2000; ++round) {
    auto bytes = good;
    const auto bit = static_cast<std::size_t>(
        st::draw(3, round, 0, 0, static_cast<std::int64_t>(bytes.size()) * 8 - 1));
    bytes[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    try {
      (void)BufferState::decode(bytes);
    } catch (const base::MalformedBytes&) {
    }
  }
}

TEST(BufferState, a_file_that_breaks_the_rules_is_refused) {
  auto options = small_circle(Mode::async);
  options.buffer.max_weight_staleness = 2;
  options.save_at = 2;
  Circle circle(options);
  ASSERT_TRUE(circle.run());
  const auto good = circle.trainers->snapshots.at(2);
  const test::TemporaryDirectory directory;
  EXPECT_EQ(through_a_file(good, directory)->encode(), good.encode());
  const auto refused = [&](const std::function<void(BufferState&)>& spoil) {
    auto bad = good;
    spoil(bad);
    EXPECT_THROW((void)through_a_file(bad, directory), base::UserError);
  };
  ASSERT_FALSE(good.open.empty());
  refused([](BufferState& state) { state.fresh_group = 0; });
  refused([](BufferState& state) { state.open.push_back(state.open.front()); });
  refused([](BufferState& state) {
    const auto open = std::ranges::find_if(
        state.open, [](const auto& one) { return one.state != OpenGroup::State::stored; });
    ASSERT_NE(open, state.open.end());
    open->history.clear();
  });
  refused([](BufferState& state) { state.next_lease = -1; });
  refused([](BufferState& state) {
    state.open.front().state = state.open.front().state == OpenGroup::State::stored
                                   ? OpenGroup::State::waiting
                                   : OpenGroup::State::stored;
  });
}

TEST(BufferState, keeps_what_is_recorded_of_the_distributions) {
  auto options = small_circle(Mode::async);
  options.buffer.max_weight_staleness = 2;
  options.save_at = 2;
  Circle circle(options);
  ASSERT_TRUE(circle.run());
  auto state = circle.trainers->snapshots.at(2);
  ASSERT_FALSE(state.groups.empty());
  for (auto& one : state.groups.front().samples)
    one = st::with_top_log_probs(st::with_nuclei(std::move(one)));
  const test::TemporaryDirectory directory;
  EXPECT_EQ(through_a_file(state, directory)->groups, state.groups);
  EXPECT_EQ(BufferState::decode(state.encode()).groups, state.groups);
  state.groups.front().samples.front().nuclei.ids.front() = -1;
  EXPECT_THROW((void)through_a_file(state, directory), base::UserError);
}

}  // namespace
}  // namespace physarum::buffer
