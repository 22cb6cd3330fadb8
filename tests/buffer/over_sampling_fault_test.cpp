// Recalls that go wrong, and unfinished groups in checkpoints.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/storage/file.hpp"

#include "physarum/exchange/messages.hpp"

#include "buffer/circle.hpp"
#include "support/temporary_directory.hpp"

namespace physarum::buffer {
namespace {

using namespace testing;

CircleOptions recalling(std::int64_t steps = 8) {
  auto options = small_circle();
  options.buffer.over_sampling_batch_size = 8;
  options.buffer.partial_rollout = true;
  options.buffer.lease_deadline_s = 1;  // 100 turns
  options.num_rollout = steps;
  options.engines = 2;
  options.engine_samples = 100;
  options.script = Script{
      .length = [](base::SampleId id) -> std::int64_t { return id.value() / 2 % 2 == 1 ? 40 : 4; }};
  return options;
}

void expect_good_batches(const Circle& circle) {
  std::set<std::int64_t> seen;
  for (std::int64_t step = circle.options.first_step; step < circle.options.num_rollout; ++step) {
    const auto samples = circle.batch(step);
    EXPECT_EQ(samples.size(), 8U);
    for (const auto& sample : samples) {
      EXPECT_TRUE(seen.insert(sample.id.value()).second) << "trained twice";
      ASSERT_EQ(sample.response_tokens(), circle.options.script->length(sample.id));
      for (std::int64_t i = 0; i < sample.response_tokens(); ++i)
        EXPECT_EQ(sample.tokens[static_cast<std::size_t>(i) + 2], Script::token(sample.id, i));
    }
  }
}

TEST(OverSamplingFaults, an_engine_that_dies_before_it_hands_back_loses_only_its_tokens) {
  Circle circle(recalling());
  auto& doomed = *circle.token_engines[0];
  doomed.before_hand_back = [&](auto&) {
    doomed.dead = true;
    return false;
  };
  for (int i = 0; i < 2000 && !doomed.dead; ++i) circle.turn();
  ASSERT_TRUE(doomed.dead);
  circle.network().kill(circle.engine_rank(0));
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_GT(circle.counters().returned_leases, 0);
  expect_good_batches(circle);
}

TEST(OverSamplingFaults, a_group_that_is_never_handed_back_is_lent_again_after_its_deadline) {
  Circle circle(recalling());
  std::optional<sample::SampleGroup> kept;
  circle.token_engines[0]->before_hand_back = [&](auto& group) {
    if (kept) return true;
    kept = group;
    return false;
  };
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  ASSERT_TRUE(kept);
  EXPECT_EQ(circle.counters().expired_leases, 1);
  expect_good_batches(circle);
}

TEST(OverSamplingFaults, what_comes_back_too_late_is_ignored) {
  Circle circle(recalling(30));
  std::optional<sample::SampleGroup> kept;
  const int engine = circle.engine_rank(0);
  circle.token_engines[0]->before_hand_back = [&](auto& group) {
    if (!kept) kept = group;
    return kept->id != group.id;  // that one never comes back in time
  };
  const auto somebody_has_it = [&] {
    return kept && std::ranges::any_of(circle.token_engines, [&](const auto& one) {
             return std::ranges::any_of(one->leases, [&](const sample::Lease& lease) {
               return lease.group == kept->id && lease.id != kept->lease;
             });
           });
  };
  for (int i = 0; i < 1000 && !somebody_has_it(); ++i) circle.turn();
  ASSERT_EQ(circle.counters().expired_leases, 1);
  circle.network().inject(engine, 0, static_cast<int>(exchange::MessageKind::hand_back),
                          encode(exchange::HandBack{*kept}));
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().repeated_groups, 1);
  expect_good_batches(circle);
}

TEST(OverSamplingFaults, what_comes_back_late_but_before_anybody_else_has_it_is_kept) {
  auto options = recalling();
  options.training_turns = 150;  // the next step begins after the deadline
  Circle circle(options);
  std::optional<sample::SampleGroup> kept;
  const int engine = circle.engine_rank(0);
  circle.token_engines[0]->before_hand_back = [&](auto& group) {
    if (kept) return true;
    kept = group;
    return false;
  };
  for (int i = 0; i < 1000 && circle.counters().expired_leases == 0; ++i) circle.turn();
  ASSERT_EQ(circle.counters().expired_leases, 1);
  const auto hand_back = [&] {
    circle.network().inject(engine, 0, static_cast<int>(exchange::MessageKind::hand_back),
                            encode(exchange::HandBack{*kept}));
    circle.turn();
  };
  const auto before = circle.counters().recalled_groups;
  hand_back();
  EXPECT_EQ(circle.counters().recalled_groups, before + 1);
  EXPECT_EQ(circle.counters().repeated_groups, 0);
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  std::vector<sample::Lease> later;
  for (const auto& one : circle.token_engines) {
    for (const auto& lease : one->leases)
      if (lease.group == kept->id && lease.id != kept->lease) later.push_back(lease);
  }
  ASSERT_FALSE(later.empty());
  ASSERT_FALSE(later.front().begun.empty()) << "its tokens are lost";
  EXPECT_EQ(later.front().begun.front().tokens, kept->samples.front().tokens);
  expect_good_batches(circle);
}

TEST(OverSamplingFaults, nobody_but_the_lessee_hands_back_and_only_what_was_lent) {
  Circle circle(recalling());
  const auto inject = [&](int from, const sample::SampleGroup& group) {
    circle.network().inject(from, 0, static_cast<int>(exchange::MessageKind::hand_back),
                            encode(exchange::HandBack{group}));
  };
  bool injected = false;
  circle.token_engines[0]->before_hand_back = [&](auto& group) {
    if (std::exchange(injected, true)) return true;
    auto bad = group;
    bad.samples.erase(bad.samples.begin());
    bad.samples.front().index_in_group = 0;
    inject(circle.engine_rank(0), bad);
    inject(1, group);  // a trainer
    return true;
  };
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().malformed_messages, 2);
  expect_good_batches(circle);
}

TEST(OverSamplingFaults, a_late_delivery_of_a_discarded_group_harms_nobody) {
  auto options = recalling();
  options.buffer.partial_rollout = false;
  Circle circle(options);
  // Engine 0 hears of nothing for a while: what it delivers then was given up long ago.
  for (int i = 0; i < 400; ++i) {
    circle.token_engines[0]->makes_tokens = i % 60 > 50;
    circle.turn();
  }
  circle.token_engines[0]->makes_tokens = true;
  ASSERT_TRUE(circle.run()) << circle.head().describe();
  EXPECT_EQ(circle.counters().malformed_messages, 0);
  expect_good_batches(circle);
}

std::shared_ptr<const BufferState> reread(const BufferState& state,
                                          const test::TemporaryDirectory& directory) {
  const parallel::Communicator alone;
  const storage::Format format{"physarum.test", 2};
  auto file = storage::File::create(directory / "state.h5", alone, format);
  state.write(file);
  file.close();
  return std::make_shared<BufferState>(
      BufferState::read(storage::File::open_read(directory / "state.h5", format)));
}

TEST(OverSamplingRestart, a_run_goes_on_with_its_unfinished_groups) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    auto options = recalling();
    options.seed = seed;
    options.buffers = 1 + static_cast<int>(seed % 2);
    options.save_at = 4;
    Circle before(options);
    ASSERT_TRUE(before.run()) << before.head().describe();
    const auto& saved = before.trainers->snapshots.at(4);
    const test::TemporaryDirectory directory;
    auto again = options;
    again.resumed = reread(saved, directory);
    EXPECT_EQ(again.resumed->encode(), saved.encode());
    ASSERT_FALSE(again.resumed->unfinished.empty()) << "the test shows nothing";
    again.first_step = 4;
    again.save_at = -1;
    again.buffers = 2;
    again.seed = seed + 100;
    Circle after(again);
    ASSERT_TRUE(after.run()) << after.head().describe();
    expect_good_batches(after);
    // It goes on behind the tokens that the first run made, and they keep their versions.
    std::size_t resumed = 0;
    for (const auto& engine : after.token_engines) {
      for (const auto& lease : engine->leases) resumed += lease.begun.empty() ? 0 : 1;
    }
    EXPECT_GE(resumed, again.resumed->unfinished.size());
    std::set<std::int64_t> all;
    for (std::int64_t step = 0; step < 8; ++step) {
      for (const auto& sample : step < 4 ? before.batch(step) : after.batch(step)) {
        EXPECT_TRUE(all.insert(sample.id.value()).second) << "trained twice";
        EXPECT_LE(step - sample.oldest_version().value(), options.buffer.most_age());
      }
    }
    EXPECT_EQ(all.size(), 8U * 8U);
  }
}

BufferState with_unfinished() {
  auto options = recalling();
  options.save_at = 4;
  Circle circle(options);
  EXPECT_TRUE(circle.run());
  return circle.trainers->snapshots.at(4);
}

TEST(OverSamplingRestart, a_file_whose_unfinished_groups_break_the_rules_is_refused) {
  const auto good = with_unfinished();
  ASSERT_FALSE(good.unfinished.empty());
  const test::TemporaryDirectory directory;
  const auto refused = [&](const std::function<void(BufferState&)>& spoil) {
    auto bad = good;
    spoil(bad);
    EXPECT_THROW((void)reread(bad, directory), base::UserError);
  };
  refused([](BufferState& state) { state.open.front().resumes = -1; });
  refused([](BufferState& state) { state.unfinished.front().samples.front().mask.clear(); });
  refused([](BufferState& state) {
    for (auto& sample : state.unfinished.front().samples)
      sample.status = sample::SampleStatus::completed;
  });
  refused([](BufferState& state) {
    std::erase_if(state.open,
                  [&](const auto& open) { return open.group == state.unfinished.front().id; });
  });
}

/// What a checkpoint of version 1 has below "buffer".
void write_version_1(storage::File& file, const BufferState& state) {
  const auto list = [&]<class T>(const char* name, const std::vector<T>& values) {
    file.write_concatenated<T>(name, values);
  };
  file.create_group("buffer");
  for (const char* name : {"purpose", "expired_leases", "returned_leases", "repeated_groups",
                           "aborted_groups", "stale_groups", "malformed_messages"}) {
    file.set_attribute("buffer", name, std::int64_t{0});
  }
  file.set_attribute("buffer", "step", state.step);
  file.set_attribute("buffer", "fresh_group", state.fresh_group);
  file.set_attribute("buffer", "next_lease", state.next_lease);
  file.write_text("buffer/report", state.report);
  list("buffer/evaluations", std::vector<std::int64_t>{});
  list("buffer/groups/id", std::vector<std::int64_t>{3});
  list("buffer/groups/state", std::vector<std::uint8_t>{0});
  list("buffer/groups/history/values", std::vector<std::int64_t>{5, 6});
  list("buffer/groups/history/ends", std::vector<std::int64_t>{2});
  sample::write_sample_table(file, "buffer/samples/", {});
}

TEST(OverSamplingRestart, a_state_of_version_1_is_read) {
  BufferState state;
  state.step = 2;
  state.fresh_group = 8;
  state.next_lease = 9;
  state.report = "a report";
  state.open = {{GroupId(3), OpenGroup::State::waiting, {base::LeaseId(5), base::LeaseId(6)}}};
  const test::TemporaryDirectory directory;
  const storage::Format format{"physarum.test", 1};
  auto file = storage::File::create(directory / "old.h5", parallel::Communicator(), format);
  write_version_1(file, state);
  file.close();
  const auto found = BufferState::read(storage::File::open_read(directory / "old.h5", format));
  EXPECT_EQ(found.encode(), state.encode());
}

}  // namespace
}  // namespace physarum::buffer
