#include "answer_tally.hpp"

#include <gtest/gtest.h>

#include "engine_figures.hpp"

namespace physarum::app {
namespace {

sample::SampleSummary answer(double reward, sample::SampleStatus status) {
  sample::SampleSummary summary;
  summary.reward = reward;
  summary.response_tokens = 10;
  summary.status = status;
  return summary;
}

TEST(AnswerTally, counts_prompts_answers_and_failures) {
  AnswerTally tally;
  const std::vector group{answer(1, sample::SampleStatus::completed),
                          answer(0, sample::SampleStatus::failed)};
  tally.add(group);
  tally.add(group);
  EXPECT_EQ(tally.prompts(), 2);
  EXPECT_EQ(tally.failed(), 2);
  EXPECT_TRUE(tally.note().starts_with("reward 0.500  ")) << tally.note();
  EXPECT_EQ(tally.text(), "");
  Summary summary;
  tally.fill(summary);
  EXPECT_NE(summary.to_json().find("\"answers\": 4"), std::string::npos);
}

TEST(AnswerTally, averages_batches_and_says_pass_rates_by_rising_k) {
  AnswerTally tally;
  for (const double rate : {0.25, 0.75}) {
    base::Scalars metrics{{"rollout/raw_reward", rate}, {"rollout/response_len/mean", 5}};
    for (const char* k : {"1", "2", "4", "8", "16"})
      metrics["rollout/pass@" + std::string(k)] = rate;
    tally.add_batch(metrics);
  }
  EXPECT_EQ(tally.text(),
            "rollout/raw_reward 0.5000, pass@1 0.5000, pass@2 0.5000, pass@4 0.5000, "
            "pass@8 0.5000, pass@16 0.5000");
  Summary summary;
  tally.fill(summary);
  EXPECT_NE(summary.to_json().find("\"rollout/pass@16\": 0.5"), std::string::npos);
  EXPECT_EQ(summary.to_json().find("response_len"), std::string::npos);
}

TEST(EngineFigures, add_up_over_engines_that_work_beside_one_another) {
  const std::vector<EngineFigures> engines{{.answers = 10,
                                            .answering_s = 2,
                                            .generated_tokens = 300,
                                            .prompt_tokens = 50,
                                            .reused_tokens = 100,
                                            .steps = 20},
                                           {},
                                           {.answers = 30,
                                            .answering_s = 4,
                                            .generated_tokens = 500,
                                            .prompt_tokens = 150,
                                            .reused_tokens = 100,
                                            .steps = 20}};
  const auto all = throughput(engines);
  EXPECT_DOUBLE_EQ(all.at("rollout/tokens_per_s"), 200);
  EXPECT_DOUBLE_EQ(all.at("rollout/requests_per_s"), 10);
  EXPECT_DOUBLE_EQ(all.at("rollout/prefill_share"), 0.2);
  EXPECT_DOUBLE_EQ(all.at("rollout/reused_share"), 0.5);
  EXPECT_DOUBLE_EQ(all.at("rollout/mean_batch"), 20);
  EXPECT_EQ(
      throughput_text(all),
      "200.0 tokens/s, 10.00 requests/s, prefill share 0.20, reused share 0.50, mean batch 20.0");
}

TEST(EngineFigures, name_preemptions_and_narrowed_nuclei_where_there_are_any) {
  std::vector<EngineFigures> engines(2);
  EXPECT_FALSE(throughput(engines).contains("rollout/preemptions"));
  EXPECT_FALSE(throughput(engines).contains("rollout/narrowed_nuclei"));
  engines[0].counted.preemptions = 3;
  engines[1].counted.preemptions = 4;
  EXPECT_TRUE(throughput_text(throughput(engines)).ends_with("mean batch 0.0, 7 preemptions"));
  engines[1].counted.narrowed_nuclei = 20;
  const auto all = throughput(engines);
  EXPECT_EQ(all.at("rollout/preemptions"), 7);
  EXPECT_EQ(all.at("rollout/narrowed_nuclei"), 20);
  EXPECT_TRUE(throughput_text(all).ends_with(", 7 preemptions, 20 narrowed nuclei"));
}

TEST(EngineFigures, of_engines_that_did_nothing_are_zero) {
  EXPECT_EQ(throughput(std::vector<EngineFigures>(2)).at("rollout/tokens_per_s"), 0);
}

}  // namespace
}  // namespace physarum::app
