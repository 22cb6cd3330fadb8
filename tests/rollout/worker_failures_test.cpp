#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "rollout/worker_fixture.hpp"

namespace physarum::rollout {
namespace {

TEST_F(Worker, a_prompt_that_does_not_fit_fails_and_is_counted) {
  options_.max_prompt_len = 30;
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.prompt.text = std::string(31, '1');
  head_.lend(lease);
  lease = lease_of(1, 2, 0);
  lease.prompt.text = "";
  head_.lend(lease);
  head_.lend(lease_of(2, 2, 0));
  run_to(3);
  for (const std::int64_t group : {0, 1}) {
    EXPECT_EQ(sample_of(group).status, sample::SampleStatus::failed);
    EXPECT_TRUE(sample_of(group).removed);
    EXPECT_EQ(sample_of(group).response_tokens(), 0);
    EXPECT_EQ(sample_of(group).evidence.verifier, "engine");
  }
  EXPECT_EQ(sample_of(0).evidence.verdict,
            R"({"failed": "the prompt of 31 tokens is not answered: it is longer than )"
            R"(--rollout-max-prompt-len or the context allows"})");
  EXPECT_NE(sample_of(1).evidence.verdict.find("it has no tokens"), std::string::npos);
  EXPECT_NE(sample_of(2).status, sample::SampleStatus::failed);
  EXPECT_EQ(worker().statistics().at("rollout/failed_samples"), 4);
  // The two that were asked.
  EXPECT_EQ(worker().statistics().at("rollout/answers"), 2);
  EXPECT_GT(worker().statistics().at("rollout/answering_s"), 0);
}

TEST_F(Worker, stop_tokens_beyond_the_vocabulary_fail_the_prompt) {
  publish(0);
  auto lease = lease_of(0, 2, 0);
  lease.sampling.stop_token_ids = {512};
  head_.lend(lease);
  run_to(1);
  EXPECT_EQ(sample_of(0).status, sample::SampleStatus::failed);
  EXPECT_NE(sample_of(0).evidence.verdict.find("beyond the model's vocabulary"), std::string::npos);
}

TEST_F(Worker, gives_up_when_samples_fail_in_a_row) {
  std::int64_t group = 0;
  const auto lend = [&](std::int64_t samples, std::int64_t version) {
    for (std::int64_t i = 0; i < samples; i += 4) head_.lend(lease_of(group++, 4, version));
  };
  const auto finish = [&] { run_to(static_cast<std::size_t>(group)); };
  publish_broken(0);
  lend(60, 0);
  finish();
  EXPECT_EQ(sample_of(14).status, sample::SampleStatus::failed);
  EXPECT_TRUE(sample_of(14).removed);
  EXPECT_EQ(sample_of(14).evidence.verdict, R"({"failed": "the logits are not finite"})");
  // A good one between them, and the row begins anew.
  publish(1);
  lend(4, 1);
  finish();
  publish_broken(2);
  lend(60, 2);
  finish();
  EXPECT_EQ(worker().statistics().at("rollout/failed_samples"), 120);
  EXPECT_TRUE(head_.alarms().empty());
  lend(8, 2);
  const auto deadline = soon();
  while (head_.alarms().empty() && !deadline.expired()) turn();
  turns(20);
  ASSERT_EQ(head_.alarms().size(), 1U);
  EXPECT_NE(head_.alarms().front().find("weight version 2 "), std::string::npos);
  // It does nothing more, and ends with the run.
  const auto groups = head_.groups().size();
  lend(4, 2);
  turns(20);
  EXPECT_EQ(head_.groups().size(), groups);
  head_.end();
  turns(5);
  EXPECT_TRUE(worker().finished());
}

}  // namespace
}  // namespace physarum::rollout
