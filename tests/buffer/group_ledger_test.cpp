#include "group_ledger.hpp"

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "batch_selection.hpp"
#include "sample/builders.hpp"

namespace physarum::buffer {
namespace {

namespace st = sample::testing;

VersionPolicy policy(Mode mode, std::int64_t staleness = 0) {
  BufferOptions options;
  options.mode = mode;
  options.max_weight_staleness = staleness;
  return VersionPolicy::of(options, sample::Purpose::train, true);
}

std::vector<sample::SampleSummary> arrived(std::int64_t group, std::int64_t version) {
  std::vector<sample::SampleSummary> samples;
  for (const auto& sample : st::make_group(group, 2, version).samples)
    samples.push_back(summarise(sample, 0));
  return samples;
}

/// Four groups a step, ten steps, room for six groups.
class LedgerTest : public ::testing::Test {
 protected:
  std::vector<std::int64_t> lend_all(const VersionPolicy& rule, std::int64_t published) {
    std::vector<std::int64_t> lent;
    while (const auto group = ledger_.next(rule, WeightVersion(published))) {
      ledger_.lend(*group, LeaseId(next_lease_++));
      lent.push_back(group->value());
    }
    return lent;
  }
  void store(std::int64_t group, std::int64_t version) {
    ASSERT_EQ(ledger_.store(GroupId(group), arrived(group, version)), GroupLedger::Stored::yes);
  }
  using Ids = std::vector<std::int64_t>;

  GroupLedger ledger_{{4, 0, 10}, 6};
  std::int64_t next_lease_ = 0;
};

TEST_F(LedgerTest, lends_the_groups_of_open_steps_in_order) {
  EXPECT_EQ(ledger_.available(policy(Mode::sync), WeightVersion()), 0);
  EXPECT_TRUE(lend_all(policy(Mode::sync), -1).empty());
  EXPECT_EQ(ledger_.available(policy(Mode::sync), WeightVersion(0)), 4);
  EXPECT_EQ(lend_all(policy(Mode::sync), 0), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(ledger_.available(policy(Mode::sync), WeightVersion(0)), 0);
}

TEST_F(LedgerTest, a_full_buffer_lends_nothing_until_groups_are_taken) {
  EXPECT_EQ(lend_all(policy(Mode::async, 3), 0), (Ids{0, 1, 2, 3, 4, 5}));
  for (std::int64_t group = 0; group < 6; ++group) store(group, 0);
  EXPECT_TRUE(lend_all(policy(Mode::async, 3), 0).empty());
  const std::vector<GroupId> batch = {GroupId(0), GroupId(1), GroupId(2), GroupId(3)};
  EXPECT_EQ(ledger_.take(batch).size(), 8u);
  EXPECT_EQ(ledger_.available(policy(Mode::async, 3), WeightVersion(0)), 4);
  EXPECT_EQ(lend_all(policy(Mode::async, 3), 0), (Ids{6, 7, 8, 9}));
}

TEST_F(LedgerTest, groups_that_come_back_go_first) {
  lend_all(policy(Mode::async, 3), 0);
  ledger_.give_back(GroupId(4));
  ledger_.give_back(GroupId(1));
  EXPECT_EQ(ledger_.available(policy(Mode::async, 3), WeightVersion(0)), 2);
  EXPECT_EQ(lend_all(policy(Mode::async, 3), 0), (Ids{1, 4}));
  EXPECT_EQ(ledger_.find(GroupId(1))->attempts, 2);
  EXPECT_EQ(ledger_.find(GroupId(1))->history, (std::vector{LeaseId(1), LeaseId(6)}));
}

TEST_F(LedgerTest, a_late_delivery_of_a_waiting_group_counts) {
  lend_all(policy(Mode::sync), 0);
  ledger_.give_back(GroupId(2));
  store(2, 0);
  EXPECT_TRUE(lend_all(policy(Mode::sync), 0).empty());
  EXPECT_EQ(ledger_.lent(), 3);
  EXPECT_EQ(ledger_.stored(), 1);
}

TEST_F(LedgerTest, nobody_waits_for_a_group_twice_or_unasked) {
  lend_all(policy(Mode::sync), 0);
  store(2, 0);
  EXPECT_EQ(ledger_.store(GroupId(2), arrived(2, 0)), GroupLedger::Stored::unexpected);
  EXPECT_EQ(ledger_.store(GroupId(9), arrived(9, 0)), GroupLedger::Stored::unexpected);
}

TEST_F(LedgerTest, the_run_ends_with_its_last_group) {
  GroupLedger ledger({4, 9, 10}, 8);
  std::int64_t count = 0;
  while (const auto group = ledger.next(policy(Mode::async, 5), WeightVersion(9))) {
    EXPECT_EQ(group->value(), 36 + count++);
    ledger.lend(*group, LeaseId(count));
  }
  EXPECT_EQ(count, 4);
}

TEST_F(LedgerTest, knows_when_everything_below_is_there) {
  lend_all(policy(Mode::async, 3), 0);
  for (const std::int64_t group : {0, 1, 3}) store(group, 0);
  EXPECT_FALSE(ledger_.complete_below(GroupId(4)));
  EXPECT_TRUE(ledger_.complete_below(GroupId(2)));
  store(2, 0);
  EXPECT_TRUE(ledger_.complete_below(GroupId(4)));
  EXPECT_FALSE(ledger_.complete_below(GroupId(8)));
}

TEST_F(LedgerTest, exact_batches_wait_for_their_own_groups) {
  const auto rule = policy(Mode::one_step_async, 1);
  lend_all(rule, 0);
  for (const std::int64_t group : {0, 1, 3, 4, 5}) store(group, 0);
  EXPECT_TRUE(select_batch(ledger_, rule, 0).groups.empty());
  store(2, 0);
  EXPECT_EQ(select_batch(ledger_, rule, 0).groups,
            (std::vector{GroupId(0), GroupId(1), GroupId(2), GroupId(3)}));
}

TEST_F(LedgerTest, async_batches_take_what_is_complete_in_id_order) {
  const auto rule = policy(Mode::async, 1);
  lend_all(rule, 0);
  for (const std::int64_t group : {5, 1, 3, 4}) store(group, 0);
  const auto selection = select_batch(ledger_, rule, 0);
  EXPECT_EQ(selection.groups, (std::vector{GroupId(1), GroupId(3), GroupId(4), GroupId(5)}));
  EXPECT_TRUE(selection.stale.empty());
}

TEST_F(LedgerTest, groups_too_old_for_the_step_are_named_and_left_out) {
  const auto rule = policy(Mode::async, 1);
  lend_all(rule, 0);
  for (const std::int64_t group : {0, 1, 2, 3, 4}) store(group, group == 2 ? 0 : 1);
  const auto selection = select_batch(ledger_, rule, 2);
  EXPECT_EQ(selection.stale, std::vector{GroupId(2)});
  EXPECT_EQ(selection.groups, (std::vector{GroupId(0), GroupId(1), GroupId(3), GroupId(4)}));
  ledger_.reject(GroupId(2));
  EXPECT_EQ(ledger_.next(rule, WeightVersion(1)), GroupId(2));
}

VersionPolicy over_sampling_policy() {
  BufferOptions options;
  options.over_sampling_batch_size = 64;
  options.partial_rollout = true;
  options.partial_rollout_max_age = 5;
  options.partial_rollout_max_resumes = 2;
  return VersionPolicy::of(options, sample::Purpose::train, true);
}

/// A step takes two groups and draws four.
TEST(OverSamplingLedger, each_step_draws_what_came_back_and_then_fresh_groups) {
  GroupLedger ledger({2, 0, 10, 4}, 8);
  const auto rule = over_sampling_policy();
  const auto lend_all = [&](std::int64_t published) {
    std::vector<std::int64_t> lent;
    while (const auto group = ledger.next(rule, WeightVersion(published))) {
      ledger.lend(*group, LeaseId(group->value()));
      lent.push_back(group->value());
    }
    return lent;
  };
  EXPECT_EQ(ledger.available(rule, WeightVersion(0)), 4);
  EXPECT_EQ(lend_all(0), (std::vector<std::int64_t>{0, 1, 2, 3}));
  ASSERT_EQ(ledger.store(GroupId(3), arrived(3, 0)), GroupLedger::Stored::yes);
  EXPECT_TRUE(select_batch(ledger, rule, 0).groups.empty());
  ASSERT_EQ(ledger.store(GroupId(1), arrived(1, 0)), GroupLedger::Stored::yes);
  EXPECT_EQ(select_batch(ledger, rule, 0).groups, (std::vector{GroupId(1), GroupId(3)}));
  (void)ledger.take(select_batch(ledger, rule, 0).groups);
  EXPECT_EQ(ledger.lent_groups(), (std::vector{GroupId(0), GroupId(2)}));
  ledger.hand_back(GroupId(2), WeightVersion(0));
  EXPECT_TRUE(lend_all(0).empty()) << "the next step is not open";
  EXPECT_EQ(lend_all(1), (std::vector<std::int64_t>{2, 4, 5}));
  EXPECT_EQ(ledger.find(GroupId(2))->resumes, 1);
  EXPECT_EQ(ledger.find(GroupId(4))->resumes, 0);
  ledger.discard(GroupId(4));
  EXPECT_EQ(ledger.store(GroupId(4), arrived(4, 1)), GroupLedger::Stored::discarded);
  EXPECT_EQ(ledger.store(GroupId(9), arrived(9, 1)), GroupLedger::Stored::unexpected);
}

TEST(OverSamplingLedger, a_step_waits_for_what_is_due_and_lends_it_whatever_the_draw_says) {
  // A run that goes on with a smaller draw than the one that it goes on from.
  BufferState state;
  state.step = 3;
  state.fresh_group = 40;
  for (const std::int64_t id : {20, 21, 22, 23, 24, 30}) {
    const std::int64_t resumes = id == 30 ? 2 : 0;
    state.open.push_back({GroupId(id), OpenGroup::State::waiting, {LeaseId(id)}, resumes});
    auto group = st::unfinished_group(id, 2);
    state.unfinished.push_back(group);
  }
  GroupLedger ledger({2, 3, 10, 4}, 8);
  ledger.restore(state, [](GroupId) { return 0; });
  const auto rule = over_sampling_policy();
  const auto first = ledger.next(rule, WeightVersion(3));
  EXPECT_EQ(first, GroupId(30)) << "it is due";
  ledger.lend(*first, LeaseId(100));
  for (const std::int64_t id : {20, 21, 22}) {
    ASSERT_EQ(ledger.next(rule, WeightVersion(3)), GroupId(id));
    ledger.lend(GroupId(id), LeaseId(100 + id));
  }
  EXPECT_FALSE(ledger.next(rule, WeightVersion(3)));
  for (const std::int64_t id : {20, 21, 22})
    ASSERT_EQ(ledger.store(GroupId(id), arrived(id, 3)), GroupLedger::Stored::yes);
  EXPECT_TRUE(select_batch(ledger, rule, 3).groups.empty()) << "group 30 is due";
  ledger.give_back(GroupId(30));
  EXPECT_EQ(ledger.available(rule, WeightVersion(3)), 1);
  EXPECT_EQ(ledger.next(rule, WeightVersion(3)), GroupId(30));
  ASSERT_EQ(ledger.store(GroupId(30), arrived(30, 3)), GroupLedger::Stored::yes);
  EXPECT_EQ(select_batch(ledger, rule, 3).groups.size(), 2U);
}

TEST(OverSamplingLedger, what_is_due_goes_before_what_arrived_earlier) {
  GroupLedger ledger({2, 6, 10, 4}, 8);
  const auto rule = over_sampling_policy();
  while (const auto group = ledger.next(rule, WeightVersion(6)))
    ledger.lend(*group, LeaseId(group->value()));
  for (const std::int64_t id : {12, 13, 14, 15}) {
    const std::int64_t oldest = id == 15 ? 1 : 6;  // five steps old: its last chance
    ASSERT_EQ(ledger.store(GroupId(id), arrived(id, oldest)), GroupLedger::Stored::yes);
  }
  EXPECT_EQ(select_batch(ledger, rule, 6).groups, (std::vector{GroupId(12), GroupId(15)}));
}

TEST(VersionPolicy, leases_open_by_staleness_and_name_what_they_need) {
  const auto one_step = policy(Mode::one_step_async, 1);
  EXPECT_EQ(one_step.rule, sample::VersionRule::exactly);
  EXPECT_TRUE(one_step.opens(3, WeightVersion(2)));
  EXPECT_FALSE(one_step.opens(4, WeightVersion(2)));
  EXPECT_EQ(one_step.needs(3, WeightVersion(0)), WeightVersion(2));
  EXPECT_EQ(one_step.needs(0, WeightVersion(0)), WeightVersion(0));
  EXPECT_EQ(one_step.needs(7, WeightVersion(7)), WeightVersion(7));  // resumed at 7
}

TEST(VersionPolicy, nothing_without_versions_is_too_old) {
  EXPECT_FALSE(policy(Mode::async, 1).too_old(9, WeightVersion()));
  EXPECT_TRUE(policy(Mode::async, 1).too_old(9, WeightVersion(7)));
  EXPECT_FALSE(policy(Mode::async, 1).too_old(9, WeightVersion(8)));
  const auto supervised = VersionPolicy::of({}, sample::Purpose::supervised, true);
  EXPECT_FALSE(supervised.too_old(9, WeightVersion(0)));
  EXPECT_TRUE(supervised.opens(100, WeightVersion()));
}

TEST(VersionPolicy, with_staleness_0_async_takes_exact_batches) {
  EXPECT_EQ(policy(Mode::async, 0).form, BatchForm::exact);
  EXPECT_EQ(policy(Mode::async, 1).form, BatchForm::first_complete);
}

}  // namespace
}  // namespace physarum::buffer
