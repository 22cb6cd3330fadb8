#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "physarum/training/trainer.hpp"

#include "support/mpi_test.hpp"
#include "training/synthetic.hpp"

namespace physarum::training {
namespace {

using parallel::Communicator;
using test::SyntheticBatches;

SyntheticBatches uneven_batches(std::int64_t steps_per_rollout) {
  SyntheticBatches batches;
  batches.groups = 6;
  batches.group_size = 5;
  batches.steps_per_rollout = steps_per_rollout;
  batches.rule.max_tokens = 40;
  return batches;
}

struct Learnt {
  std::vector<float> weights;
  base::Digest checksum;
  std::vector<base::Scalars> steps;
};

Learnt learn(const TrainerSetup& setup, const SyntheticBatches& batches, const Communicator& comm,
             int rollouts) {
  Trainer trainer(setup, test::random_weights(setup.model), comm);
  Learnt learnt;
  for (int step = 0; step < rollouts; ++step) {
    const auto metrics = trainer.step(batches.batch(step, comm.size(), comm.rank()));
    learnt.steps.insert(learnt.steps.end(), metrics.optimiser_steps.begin(),
                        metrics.optimiser_steps.end());
  }
  learnt.weights.assign(trainer.masters().begin(), trainer.masters().end());
  learnt.checksum = trainer.checksum();
  return learnt;
}

/// Euclidean distance relative to the length of `b`.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0;
  double length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    difference += d * d;
    length += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return std::sqrt(difference / length);
}

TrainerSetup five_step_setup(LossType type) {
  TrainerSetup setup = test::tiny_setup();
  setup.options.optimiser.lr = 1e-3;
  setup.options.loss.type = type;
  return setup;
}

void expect_agreement(const TrainerSetup& setup, std::int64_t steps_per_rollout, int rollouts) {
  const auto batches = uneven_batches(steps_per_rollout);
  const Learnt together = learn(setup, batches, physarum::test::world(), rollouts);
  const Learnt alone = learn(setup, batches, Communicator{}, rollouts);
  EXPECT_LT(distance(together.weights, alone.weights), 1e-4);
  for (std::size_t i = 0; i < alone.steps.size(); ++i) {
    for (const char* name : {"train/loss", "train/grad_norm", "train/lr-pg_0"}) {
      const double expected = alone.steps[i].at(name);
      // The policy loss itself is about 0: what its parts cancel to is compared to their size.
      EXPECT_NEAR(together.steps[i].at(name), expected, 1e-4 * std::max(std::abs(expected), 0.1))
          << name << " of step " << i;
    }
  }
  const auto digests = physarum::test::world().all_gather(together.checksum);
  for (const auto& digest : digests) EXPECT_EQ(digest, together.checksum);
}

TEST(TrainerRanks, agree_with_one_rank_on_the_policy_loss) {
  expect_agreement(five_step_setup(LossType::policy_loss), 1, 5);
}

TEST(TrainerRanks, agree_with_one_rank_over_several_steps_per_rollout) {
  TrainerSetup setup = five_step_setup(LossType::policy_loss);
  setup.options.loss.calculate_per_token_loss = true;
  setup.options.loss.entropy_coef = 0.01;
  expect_agreement(setup, 3, 2);
}

TEST(TrainerRanks, agree_with_one_rank_on_given_answers) {
  expect_agreement(five_step_setup(LossType::sft_loss), 1, 5);
}

TEST(TrainerRanks, agree_with_one_rank_on_balanced_experts) {
  TrainerSetup setup = test::expert_setup();
  setup.options.optimiser.lr = 1e-3;
  setup.options.loss.calculate_per_token_loss = true;
  expect_agreement(setup, 1, 3);
}

TEST(TrainerRanks, give_the_same_bits_twice) {
  const TrainerSetup setup = five_step_setup(LossType::policy_loss);
  const auto first = learn(setup, uneven_batches(1), physarum::test::world(), 3);
  const auto second = learn(setup, uneven_batches(1), physarum::test::world(), 3);
  EXPECT_EQ(first.checksum, second.checksum);
}

TEST(TrainerRanks, take_part_without_samples_of_their_own) {
  SyntheticBatches few;
  few.groups = 1;
  few.group_size = 2;
  EXPECT_NO_THROW(
      (void)learn(five_step_setup(LossType::sft_loss), few, physarum::test::world(), 2));
}

TEST(TrainerRanks, skip_a_step_together_if_one_gradient_is_not_finite) {
  const auto& world = physarum::test::world();
  Trainer trainer(five_step_setup(LossType::policy_loss), test::tiny_weights(), world);
  auto batch = uneven_batches(1).batch(0, world.size(), world.rank());
  // Only one rank sees it in its tokens: the plan, which all know, is sound.
  TrainerSetup setup = five_step_setup(LossType::policy_loss);
  setup.options.loss.use_tis = true;
  Trainer weighted(setup, test::tiny_weights(), world);
  if (world.rank() == world.size() - 1) {
    for (auto& one : batch.samples) {
      for (float& value : one.log_probs) value = std::numeric_limits<float>::quiet_NaN();
    }
  }
  EXPECT_EQ(weighted.step(batch).scalars.at("train/skipped_steps"), 1);
  EXPECT_EQ(weighted.checksum(), trainer.checksum());
}

TEST(TrainerRanks, all_refuse_a_reference_that_one_cannot_read) {
  TrainerSetup setup = five_step_setup(LossType::policy_loss);
  setup.options.loss.use_kl_loss =
      physarum::test::world().rank() == physarum::test::world().size() - 1;
  setup.options.loss.ref_load = "/nonexistent";
  const auto make = [&] {
    const Trainer trainer(setup, test::tiny_weights(), physarum::test::world());
  };
  EXPECT_THROW(make(), base::UserError);
  physarum::test::world().barrier();
}

}  // namespace
}  // namespace physarum::training
