// Samples whose tokens were drawn from a few ids each: training restricts its softmax to them.

#include <cmath>
#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>
#include <unistd.h>

#include "physarum/storage/file_system.hpp"

#include "physarum/model/hf_directory.hpp"

#include "physarum/training/trainer.hpp"

#include "loss.hpp"
#include "training/synthetic.hpp"

namespace physarum::training {
namespace {

using Samples = std::vector<sample::Sample>;

/// Each trained token was drawn from itself and its neighbours up to a multiple of 5: five ids.
Samples cut_samples(std::int64_t step = 0) {
  auto samples = test::SyntheticBatches{}.samples(step);
  for (auto& one : samples) {
    for (std::size_t i = 0; i < one.mask.size(); ++i) {
      std::vector<base::TokenId> set;
      if (one.mask[i] == 1) {
        set.resize(5);
        const auto drawn = one.tokens[static_cast<std::size_t>(one.prompt_tokens) + i];
        std::iota(set.begin(), set.end(), drawn / 5 * 5);
      }
      one.nuclei.push(set);
    }
  }
  return samples;
}

/// As an engine with these weights would have recorded them.
void record_log_probs(Trainer& trainer, Samples& samples) {
  for (auto& one : samples) {
    const auto log_probs = trainer.log_probs(one);
    auto next = log_probs.begin();
    for (std::size_t i = 0; i < one.mask.size(); ++i) {
      if (one.mask[i] == 1) one.log_probs[i] = *next++;
    }
  }
}

class NucleusTrainer : public testing::Test {
 protected:
  Trainer make_trainer(const TrainerSetup& setup = test::tiny_setup()) {
    return {setup, test::tiny_weights(), alone_};
  }

  parallel::Communicator alone_;
};

TEST_F(NucleusTrainer, log_probs_are_of_the_softmax_over_the_nucleus) {
  auto trainer = make_trainer();
  auto whole = test::SyntheticBatches{}.samples(0);
  const auto cut = cut_samples();
  for (std::size_t s = 0; s < cut.size(); ++s) {
    const auto of_cut = trainer.log_probs(cut[s]);
    // log p - log (mass of the nucleus); the mass by scoring each of its ids in the token's place.
    std::size_t trained = 0;
    for (std::size_t i = 0; i < cut[s].mask.size(); ++i) {
      if (cut[s].mask[i] == 0) continue;
      auto one = whole[s];
      const auto place = static_cast<std::size_t>(one.prompt_tokens) + i;
      const double log_p = static_cast<double>(trainer.log_probs(one)[trained]);
      double mass = 0;
      for (const auto id : cut[s].nuclei.at(static_cast<std::int64_t>(i))) {
        one.tokens[place] = id;
        mass += std::exp(static_cast<double>(trainer.log_probs(one)[trained]));
      }
      EXPECT_NEAR(static_cast<double>(of_cut[trained]), log_p - std::log(mass), 1e-5);
      ++trained;
    }
  }
}

TEST_F(NucleusTrainer, every_pass_restricts_its_softmax) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("physarum_nucleus_" + std::to_string(getpid()));
  model::save_hf(storage::real_file_system(), directory, test::tiny_model(), test::tiny_weights());
  TrainerSetup setup = test::tiny_setup();
  setup.options.loss.use_kl_loss = true;
  setup.options.loss.kl_loss_type = KlType::k2;
  setup.options.loss.ref_load = directory.string();
  auto trainer = make_trainer(setup);
  std::filesystem::remove_all(directory);
  auto samples = cut_samples();
  record_log_probs(trainer, samples);
  // Two optimiser steps: the old log-probs are those of a pass of their own.
  const auto result = trainer.step(test::batch_of(samples, 2));
  ASSERT_EQ(result.scalars.count("perf/log_probs_time"), 1U);
  const auto& first = result.optimiser_steps.front();
  EXPECT_EQ(first.at("train/train_rollout_logprob_abs_diff"), 0);
  EXPECT_EQ(first.at("train/ppo_kl"), 0);
  EXPECT_EQ(first.at("train/kl_loss"), 0);
  const auto& second = result.optimiser_steps.back();
  EXPECT_EQ(second.at("train/train_rollout_logprob_abs_diff"), 0);
  EXPECT_NE(second.at("train/ppo_kl"), 0);
  EXPECT_GT(second.at("train/kl_loss"), 0);
  EXPECT_LT(first.at("train/entropy_loss"), std::log(5.0));  // one of 16 samples is removed
  EXPECT_GT(first.at("train/entropy_loss"), 0.8 * std::log(5.0));
  EXPECT_NEAR(result.scalars.at("rollout/top_p_kept_vocab_per_token"), 5, 1e-9);
}

TEST_F(NucleusTrainer, does_not_depend_on_the_split_into_micro_batches) {
  auto one = make_trainer();
  auto other = make_trainer();
  for (int step = 0; step < 3; ++step) {
    // Some samples without nuclei among them.
    auto samples = cut_samples(step);
    for (std::size_t i = 0; i < samples.size(); i += 3) samples[i].nuclei = {};
    const auto mine = one.step(test::batch_of(samples)).scalars;
    const auto its =
        other.step(test::batch_of(samples, 1, {sample::Packing::by_count, 1, 0})).scalars;
    EXPECT_NEAR(mine.at("train/grad_norm"), its.at("train/grad_norm"), 1e-4);
    EXPECT_NEAR(mine.at("train/entropy_loss"), its.at("train/entropy_loss"), 1e-5);
    EXPECT_NEAR(mine.at("rollout/top_p_kept_vocab_per_token"), 5, 1e-9);
  }
  for (std::size_t i = 0; i < one.masters().size(); ++i) {
    ASSERT_NEAR(one.masters()[i], other.masters()[i], 2e-4);
  }
}

/// One token was drawn from two ids, in a model whose head is a matrix of its own: the rows of all
/// others stay as they are.
TEST_F(NucleusTrainer, learns_nothing_of_tokens_outside) {
  TrainerSetup setup = test::tiny_setup();
  setup.model.tie_word_embeddings = false;
  setup.options.optimiser.weight_decay = 0;
  const auto initial = test::random_weights(setup.model, 3);
  Trainer trainer(setup, initial, alone_);
  auto samples = cut_samples();
  for (auto& one : samples) {
    one.nuclei = {};
    for (std::size_t i = 0; i < one.mask.size(); ++i) {
      auto& token = one.tokens[static_cast<std::size_t>(one.prompt_tokens) + i];
      token = 10 + token % 2;
      one.nuclei.push(std::vector<base::TokenId>{10, 11});
    }
  }
  const auto result = trainer.step(test::batch_of(samples));
  ASSERT_GT(result.scalars.at("train/grad_norm"), 0);
  const model::ParameterLayout layout(setup.model);
  const auto head = std::ranges::find_if(
      layout.tensors(), [](const auto& tensor) { return tensor.name == "lm_head.weight"; });
  ASSERT_NE(head, layout.tensors().end());
  const auto begin = static_cast<std::size_t>(head->offset);
  const auto width = static_cast<std::size_t>(setup.model.hidden_size);
  for (std::size_t id = 0; id < 40; ++id) {
    const auto at = static_cast<std::ptrdiff_t>(begin + id * width);
    const bool same =
        std::equal(initial.begin() + at, initial.begin() + at + static_cast<std::ptrdiff_t>(width),
                   trainer.masters().begin() + at);
    EXPECT_EQ(same, id != 10 && id != 11) << "token " << id;
  }
}

TEST_F(NucleusTrainer, has_no_metric_of_nuclei_without_any) {
  auto trainer = make_trainer();
  const auto scalars = trainer.step(test::SyntheticBatches{}.batch(0, 1, 0)).scalars;
  EXPECT_EQ(scalars.count("rollout/top_p_kept_vocab_per_token"), 0U);
}

}  // namespace
}  // namespace physarum::training
