#include "evaluation.hpp"

#include <gtest/gtest.h>

#include "physarum/sample/prompt_file.hpp"

#include "sample/builders.hpp"

namespace physarum::buffer {
namespace {

namespace st = sample::testing;

class EvaluationTest : public ::testing::Test {
 protected:
  std::vector<sample::SampleSummary> answers(const Evaluation::Task& task, double reward) {
    std::vector<sample::SampleSummary> samples;
    for (std::int64_t i = 0; i < sets_[task.set].n_samples; ++i) {
      auto sample = summarise(st::make_sample(task.first_sample.value() + i, 0, i), 0);
      sample.group = task.group;
      sample.reward = reward;
      samples.push_back(sample);
    }
    return samples;
  }

  sample::FilePromptSource easy_{std::vector<sample::Prompt>(3)};
  sample::FilePromptSource hard_{std::vector<sample::Prompt>(9)};
  std::vector<EvaluationSet> sets_ = {{"easy", &easy_, 0, 1, {}}, {"hard", &hard_, 2, 4, {}}};
  std::int64_t next_lease_ = 0;
};

TEST_F(EvaluationTest, asks_every_prompt_of_every_set_once) {
  Evaluation evaluation(sets_, WeightVersion(3));
  EXPECT_EQ(evaluation.total(), 5);  // the hard set is limited to two prompts
  std::vector<Evaluation::Task> tasks;
  while (const auto task = evaluation.next()) {
    evaluation.lend(task->group, LeaseId(next_lease_++));
    tasks.push_back(*task);
  }
  ASSERT_EQ(tasks.size(), 5u);
  EXPECT_EQ(evaluation.available(), 0);
  EXPECT_EQ(tasks[1].set, 0u);
  EXPECT_EQ(tasks[3].set, 1u);
  EXPECT_EQ(tasks[4].prompt, 1);
  EXPECT_EQ(tasks[4].first_sample.value() - tasks[3].first_sample.value(), 4);
}

TEST_F(EvaluationTest, ids_differ_from_trainings_and_between_versions) {
  Evaluation third(sets_, WeightVersion(3)), fourth(sets_, WeightVersion(4));
  EXPECT_TRUE(is_evaluation(third.next()->group));
  EXPECT_GE(third.next()->first_sample.value(), first_evaluation_id);
  EXPECT_EQ(fourth.next()->group.value() - third.next()->group.value(), 5);
  EXPECT_EQ(fourth.next()->first_sample.value() - third.next()->first_sample.value(), 3 + 8);
  EXPECT_FALSE(is_evaluation(GroupId(first_evaluation_id - 1)));
}

TEST_F(EvaluationTest, what_comes_back_is_asked_again) {
  Evaluation evaluation(sets_, WeightVersion(0));
  const auto first = *evaluation.next();
  evaluation.lend(first.group, LeaseId(0));
  evaluation.give_back(first.group);
  const auto again = *evaluation.next();
  EXPECT_EQ(again.group, first.group);
  EXPECT_EQ(again.history, std::vector{LeaseId(0)});
  EXPECT_EQ(evaluation.attempts(first.group), 1);
}

TEST_F(EvaluationTest, gives_mean_rewards_and_pass_rates_when_complete) {
  Evaluation evaluation(sets_, WeightVersion(0));
  std::vector<Evaluation::Task> tasks;
  while (const auto task = evaluation.next()) {
    evaluation.lend(task->group, LeaseId(next_lease_++));
    tasks.push_back(*task);
  }
  for (const auto& task : tasks) {
    EXPECT_FALSE(evaluation.complete());
    EXPECT_TRUE(evaluation.store(task.group, answers(task, task.prompt == 0 ? 1 : 0)));
    EXPECT_FALSE(evaluation.store(task.group, answers(task, 1)));
  }
  EXPECT_TRUE(evaluation.complete());
  const auto metrics = evaluation.metrics();
  EXPECT_DOUBLE_EQ(metrics.at("eval/easy"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(metrics.at("eval/hard"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("eval/hard-pass@4"), 0.5);
  EXPECT_FALSE(metrics.contains("eval/easy-pass@1"));
}

TEST_F(EvaluationTest, answers_of_wrong_size_or_group_are_not_stored) {
  Evaluation evaluation(sets_, WeightVersion(0));
  const auto task = *evaluation.next();
  EXPECT_FALSE(evaluation.store(task.group, answers(task, 1)));  // was not lent
  evaluation.lend(task.group, LeaseId(0));
  auto more = answers(task, 1);
  more.push_back(more.front());
  EXPECT_FALSE(evaluation.store(task.group, more));
  EXPECT_FALSE(evaluation.store(GroupId(3), answers(task, 1)));
  EXPECT_FALSE(evaluation.store(GroupId(first_evaluation_id + 99), answers(task, 1)));
}

}  // namespace
}  // namespace physarum::buffer
