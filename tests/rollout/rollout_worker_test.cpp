#include "physarum/rollout/rollout_worker.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "rollout/worker_fixture.hpp"

namespace physarum::rollout {
namespace {

using test::world;

TEST_F(Worker, answers_leases_with_complete_groups) {
  publish(0);
  for (std::int64_t group = 0; group < 6; ++group) head_.lend(lease_of(group, 4, 0));
  run_to(6);
  for (const auto& [id, group] : head_.groups()) {
    EXPECT_FALSE(sample::find_fault(group).has_value());
    ASSERT_EQ(group.samples.size(), 4U);
    for (const auto& sample : group.samples) {
      EXPECT_EQ(sample.prompt, base::PromptId(id));
      EXPECT_EQ(sample.label, prompts_->at(id).label);
      EXPECT_EQ(sample.lease_history,
                (std::vector<base::LeaseId>{base::LeaseId(7), base::LeaseId(1000 + id)}));
      const auto verdict = environments_.verify(prompts_->at(id), sample.response);
      EXPECT_EQ(sample.reward, verdict.reward);
      EXPECT_EQ(sample.evidence.verifier, verdict.evidence.verifier);
      EXPECT_EQ(sample.evidence.verdict, verdict.evidence.verdict);
      EXPECT_EQ(sample.oldest_version(), base::WeightVersion(0));
      EXPECT_EQ(sample.trained_tokens(), sample.response_tokens());
      const auto end = sample.tokens.back();
      EXPECT_EQ(sample.status == sample::SampleStatus::completed, end == 510);
      EXPECT_TRUE(end == 510 || sample.response_tokens() == 20);
    }
  }
  const auto figures = worker().statistics();
  EXPECT_EQ(figures.at("rollout/groups"), 6);
  EXPECT_GT(figures.at("rollout/tokens_per_s"), 0);
  EXPECT_EQ(figures.at("rollout/pulls"), 1);
}

TEST_F(Worker, groups_have_the_same_bits_on_every_rank_and_in_every_batch) {
  options_.concurrency = 3 + 7 * world().rank();
  options_.prefill_tokens = 5 + world().rank();
  publish(0);
  for (std::int64_t group = 0; group < 6; ++group) head_.lend(lease_of(group, 3, 0));
  run_to(6);
  const auto digest = digest_of(head_.groups());
  for (const auto other : world().all_gather(digest, soon())) EXPECT_EQ(other, digest);
}

TEST_F(Worker, samples_have_the_ids_that_their_tokens_were_drawn_from) {
  options_.top_p = 0.8;
  options_.nucleus_limit = 20;
  publish(0);
  for (std::int64_t group = 0; group < 3; ++group) head_.lend(lease_of(group, 4, 0));
  run_to(3);
  std::int64_t ids = 0;
  for (const auto& [id, group] : head_.groups()) {
    EXPECT_FALSE(sample::find_fault(group).has_value());
    for (const auto& sample : group.samples) {
      EXPECT_EQ(sample.nuclei.size(), sample.response_tokens());
      ids += std::ssize(sample.nuclei.ids);
    }
  }
  EXPECT_GT(ids, 0);
  const auto figures = worker().statistics();
  EXPECT_EQ(figures.at("rollout/nucleus_ids"), ids);
  EXPECT_GT(figures.at("rollout/narrowed_nuclei"), 0);
  const auto digest = digest_of(head_.groups());
  for (const auto other : world().all_gather(digest, soon())) EXPECT_EQ(other, digest);
}

TEST_F(Worker, evaluation_takes_the_likeliest_tokens) {
  options_.eval_temperature = 0;
  publish(0);
  auto lease = lease_of(0, 3, 0);
  lease.purpose = sample::Purpose::evaluate;
  lease.sampling = options_.evaluation_sampling(config_);
  head_.lend(lease);
  run_to(1);
  EXPECT_EQ(head_.groups().at(0).purpose, sample::Purpose::evaluate);
  EXPECT_EQ(sample_of(0, 0).tokens, sample_of(0, 1).tokens);
  EXPECT_EQ(sample_of(0, 0).log_probs, sample_of(0, 2).log_probs);
}

TEST_F(Worker, supervised_answers_are_labels_and_need_no_weights) {
  auto lease = lease_of(0, 1, 0);
  lease.purpose = sample::Purpose::supervised;
  lease.prompt.text = "7+5=";
  lease.prompt.label = "12";
  head_.lend(lease);
  run_to(1);
  const auto& sample = sample_of(0);
  EXPECT_EQ(tokenizer_.decode(sample.tokens), "7+5=12");
  EXPECT_EQ(sample.tokens.back(), 510);
  EXPECT_EQ(sample.mask, (std::vector<std::uint8_t>(3, 1)));
  EXPECT_TRUE(sample.log_probs.empty());
  EXPECT_EQ(sample.status, sample::SampleStatus::completed);
}

TEST_F(Worker, supervised_answers_are_cut_at_the_context) {
  auto lease = lease_of(0, 1, 0);
  lease.purpose = sample::Purpose::supervised;
  lease.prompt.text = "7+5=";
  lease.prompt.label = "1234";
  lease.sampling.max_context_tokens = 6;
  head_.lend(lease);
  run_to(1);
  EXPECT_EQ(tokenizer_.decode(sample_of(0).tokens), "7+5=12");
  EXPECT_EQ(sample_of(0).status, sample::SampleStatus::truncated);
}

TEST_F(Worker, drops_everything_when_the_run_is_over) {
  publish(0);
  head_.lend(lease_of(0, 2, 0));
  turns(5);
  head_.end();
  turns(5);
  EXPECT_TRUE(worker().finished());
  EXPECT_FALSE(worker().advance());
  EXPECT_TRUE(head_.groups().empty());
}

}  // namespace
}  // namespace physarum::rollout
