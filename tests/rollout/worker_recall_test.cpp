#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "rollout/worker_fixture.hpp"

namespace physarum::rollout {
namespace {

TEST_F(Worker, a_recalled_group_goes_on_to_the_same_bits) {
  publish(0);
  auto lease = lease_of(0, 4, 0);
  lease.sampling.min_response_tokens = 12;
  lease.sampling.top_log_probs = 2;
  head_.lend(lease);
  run_to(1);
  // The same prompt and samples under another group's number would be other samples: the group is
  // lent again, and recalled when it has some tokens.
  const auto whole = head_.groups().at(0);
  head_.forget(0);
  lease.id = base::LeaseId(2000);
  head_.lend(lease);
  std::size_t recalls = 0;
  while (head_.groups().empty() && recalls < 3) {
    turns(6);
    head_.recall(lease.id, exchange::RecallForm::hand_back);
    turns(4);
    if (head_.returned().empty()) break;
    const auto& back = head_.returned().at(0);
    EXPECT_TRUE(back.has_aborted());
    EXPECT_EQ(back.lease, lease.id);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto& begun = back.samples[i];
      ASSERT_LE(begun.tokens.size(), whole.samples[i].tokens.size());
      EXPECT_TRUE(
          std::equal(begun.tokens.begin(), begun.tokens.end(), whole.samples[i].tokens.begin()));
    }
    lease.history.push_back(lease.id);
    lease.id = base::LeaseId(lease.id.value() + 1);
    lease.begun = back.samples;
    ++recalls;
    head_.lend(lease);
  }
  run_to(1);
  EXPECT_GT(recalls, 0U);
  EXPECT_EQ(worker().statistics().at("rollout/handed_back_groups"), static_cast<double>(recalls));
  const auto& group = head_.groups().at(0);
  EXPECT_EQ(group.lease, lease.id);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto &now = group.samples[i], &then = whole.samples[i];
    EXPECT_EQ(now.tokens, then.tokens);
    EXPECT_EQ(now.log_probs, then.log_probs);
    EXPECT_EQ(now.top_log_probs, then.top_log_probs);
    EXPECT_EQ(now.top_log_probs.per_token(now.response_tokens()), 2);
    EXPECT_EQ(now.mask, then.mask);
    EXPECT_EQ(now.versions, then.versions);
    EXPECT_EQ(now.status, then.status);
    EXPECT_EQ(now.response, then.response);
    EXPECT_EQ(now.reward, then.reward);
    EXPECT_EQ(now.lease_history.back(), lease.id);
  }
}

TEST_F(Worker, finished_members_of_a_recalled_group_are_not_made_again) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.sampling.stop_token_ids.clear();
  head_.lend(lease);
  run_to(1);
  const auto whole = head_.groups().at(0);
  head_.forget(0);
  // As if the second had been given up after 5 of its 20 tokens.
  lease.begun = whole.samples;
  auto& begun = lease.begun[1];
  begun.tokens.resize(static_cast<std::size_t>(begun.prompt_tokens) + 5);
  begun.log_probs.resize(5);
  begun.mask.resize(5);
  begun.versions = {{base::WeightVersion(0), 5}};
  begun.status = sample::SampleStatus::aborted;
  const auto made = worker().statistics().at("rollout/generated_tokens");
  lease.id = base::LeaseId(2000);
  head_.lend(lease);
  run_to(1);
  EXPECT_EQ(worker().statistics().at("rollout/generated_tokens") - made, 15);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(sample_of(0, i).tokens, whole.samples[i].tokens);
    EXPECT_EQ(sample_of(0, i).log_probs, whole.samples[i].log_probs);
    EXPECT_EQ(sample_of(0, i).lease, lease.id);
  }
}

TEST_F(Worker, a_group_of_another_prompt_or_length_begins_again) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  head_.lend(lease);
  run_to(1);
  const auto whole = head_.groups().at(0);
  for (const bool other_prompt : {true, false}) {
    head_.forget(0);
    lease.begun = whole.samples;
    auto& begun = lease.begun[1];
    begun.status = sample::SampleStatus::aborted;
    if (other_prompt) {
      begun.tokens.front() += 1;
    } else {
      begun.tokens.resize(static_cast<std::size_t>(begun.prompt_tokens) + 20, 3);
      begun.log_probs.assign(20, -1);
      begun.mask.assign(20, 1);
      begun.versions = {{base::WeightVersion(0), 20}};
    }
    lease.id = base::LeaseId(lease.id.value() + 1000);
    head_.lend(lease);
    run_to(1);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(sample_of(0, i).tokens, whole.samples[i].tokens);
  }
}

TEST_F(Worker, a_group_with_another_number_of_top_log_probs_begins_again) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.sampling.top_log_probs = 2;
  head_.lend(lease);
  run_to(1);
  const auto whole = head_.groups().at(0);
  head_.forget(0);
  lease.begun = whole.samples;
  lease.begun[1].status = sample::SampleStatus::aborted;
  lease.sampling.top_log_probs = 3;
  lease.id = base::LeaseId(lease.id.value() + 1000);
  head_.lend(lease);
  run_to(1);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& now = sample_of(0, i);
    EXPECT_EQ(now.tokens, whole.samples[i].tokens);
    EXPECT_EQ(now.top_log_probs.per_token(now.response_tokens()), 3);
  }
}

TEST_F(Worker, a_dropped_lease_is_forgotten) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.sampling.stop_token_ids.clear();
  head_.lend(lease);
  auto waiting = lease_of(2, 2, 5);  // its version never comes
  head_.lend(waiting);
  turns(8);
  head_.recall(lease.id, exchange::RecallForm::drop);
  head_.recall(waiting.id, exchange::RecallForm::drop);
  turns(40);
  EXPECT_TRUE(head_.groups().empty());
  EXPECT_TRUE(head_.returned().empty());
  EXPECT_EQ(head_.client().leases_in_flight(), 0);
  head_.lend(lease_of(1, 2, 0));
  run_to(1);
  EXPECT_TRUE(head_.groups().contains(1));
}

}  // namespace
}  // namespace physarum::rollout
