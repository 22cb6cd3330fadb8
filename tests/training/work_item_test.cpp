#include "work_item.hpp"

#include <gtest/gtest.h>

#include "training/synthetic.hpp"

namespace physarum::training {
namespace {

sample::Sample masked_sample() {
  sample::Sample sample;
  sample.id = base::SampleId(0);
  sample.group = base::GroupId(0);
  sample.prompt_tokens = 2;
  sample.tokens = {10, 11, 20, 21, 22, 23};
  sample.mask = {1, 0, 1, 0};
  sample.log_probs = {-1, 0, -3, 0};
  return sample;
}

TEST(WorkItem, keeps_trained_tokens_and_what_comes_before_them) {
  WorkItem item;
  item.append(masked_sample(), 0.5, 0.25);
  item.append(masked_sample(), -0.5, 0.125);
  EXPECT_EQ(item.packed.tokens,
            (std::vector<base::TokenId>{10, 11, 20, 21, 22, 10, 11, 20, 21, 22}));
  EXPECT_EQ(item.packed.sequence_starts, (std::vector<std::int64_t>{0, 5, 10}));
  EXPECT_EQ(item.packed.targets, (std::vector<std::int64_t>{2, 4, 7, 9}));
  EXPECT_EQ(item.sample_starts, (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_EQ(item.rollout_log_probs, (std::vector<float>{-1, -3, -1, -3}));
  EXPECT_EQ(item.token_weights, (std::vector<double>{0.25, 0.125}));
}

TEST(WorkItem, takes_the_nuclei_of_trained_tokens) {
  auto cut = masked_sample();
  for (const std::vector<base::TokenId>& set :
       {std::vector<base::TokenId>{20, 40}, {}, {1, 22}, {23}}) {
    cut.nuclei.push(set);
  }
  WorkItem item;
  item.append(masked_sample(), 1, 1);
  EXPECT_TRUE(item.packed.nuclei.empty());
  item.append(cut, 1, 1);
  item.append(masked_sample(), 1, 1);
  EXPECT_EQ(item.packed.nuclei, (base::TokenSets{{20, 40, 1, 22}, {0, 0, 2, 4}}));
  EXPECT_EQ(item.packed.n_targets(), 6);
  item.append(cut, 1, 1);
  EXPECT_EQ(item.packed.nuclei,
            (base::TokenSets{{20, 40, 1, 22, 20, 40, 1, 22}, {0, 0, 2, 4, 4, 4, 6, 8}}));
}

struct Split {
  std::int64_t learnt = 0;
  std::int64_t observed = 0;
};

Split split_of(const LossOptions& options, const std::vector<double>& advantages) {
  auto second = masked_sample();
  second.id = base::SampleId(1);
  auto removed = masked_sample();
  removed.id = base::SampleId(2);
  removed.removed = true;
  const auto batch = test::batch_of({masked_sample(), second, removed});
  Split split;
  for (const auto& item : make_work(batch, 0, advantages, std::vector<double>(3, 0.1), options)) {
    (item.part == Part::learnt ? split.learnt : split.observed) += item.n_samples();
  }
  return split;
}

TEST(MakeWork, leaves_out_removed_samples_and_only_observes_those_without_gradient) {
  const Split split = split_of({}, {1.5, 0, 2});
  EXPECT_EQ(split.learnt, 1);
  EXPECT_EQ(split.observed, 1);
}

TEST(MakeWork, learns_from_every_sample_that_has_a_gradient) {
  LossOptions entropy;
  entropy.entropy_coef = 0.1;
  EXPECT_EQ(split_of(entropy, {0, 0, 0}).learnt, 2);
  LossOptions kl;
  kl.use_kl_loss = true;
  EXPECT_EQ(split_of(kl, {0, 0, 0}).observed, 2);
  kl.kl_loss_coef = 0.1;
  EXPECT_EQ(split_of(kl, {0, 0, 0}).learnt, 2);
  LossOptions supervised;
  supervised.type = LossType::sft_loss;
  EXPECT_EQ(split_of(supervised, {0, 0, 0}).learnt, 2);
}

TEST(MakeWork, covers_each_rank_s_samples_once) {
  for (int rank = 0; rank < 3; ++rank) {
    test::SyntheticBatches batches;
    batches.groups = 6;
    batches.rule.max_tokens = 30;
    const auto batch = batches.batch(0, 3, rank);
    std::int64_t tokens = 0;
    for (const auto& item :
         make_work(batch, 0, std::vector<double>(24, 1.0), std::vector<double>(24, 1.0), {})) {
      EXPECT_LE(item.packed.n_tokens(), 30);
      tokens += item.packed.n_targets();
    }
    std::int64_t expected = 0;
    for (const auto& one : batch.samples) expected += one.trained_tokens();
    EXPECT_EQ(tokens, expected);
  }
}

}  // namespace
}  // namespace physarum::training
