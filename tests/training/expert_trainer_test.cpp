#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/model/parameter_layout.hpp"

#include "physarum/training/trainer.hpp"

#include "training/synthetic.hpp"

namespace physarum::training {
namespace {

using test::SyntheticBatches;

base::Scalars first_step(const TrainerSetup& setup, const SyntheticBatches& batches = {}) {
  const parallel::Communicator alone;
  Trainer trainer(setup, test::random_weights(setup.model), alone);
  return trainer.step(batches.batch(0, 1, 0)).scalars;
}

TEST(ExpertTrainer, adds_the_load_balancing_loss_with_its_coefficient) {
  for (const auto type : {LossType::policy_loss, LossType::sft_loss}) {
    TrainerSetup setup = test::expert_setup();
    setup.options.loss.type = type;
    const auto with = first_step(setup);
    setup.options.loss.moe_aux_loss_coeff = 0;
    const auto without = first_step(setup);
    EXPECT_EQ(without.count("train/moe_aux_loss"), 0U);
    // One of 16 samples is removed; with two experts for a token the balanced loss is 2.
    const double balance = with.at("train/moe_aux_loss");
    EXPECT_NEAR(balance, 2.0 * 15 / 16, 0.4);
    EXPECT_NEAR(with.at("train/loss") - without.at("train/loss"), 0.1 * balance, 1e-6);
    EXPECT_NE(with.at("train/grad_norm"), without.at("train/grad_norm"));
  }
}

TEST(ExpertTrainer, does_not_depend_on_the_split_into_micro_batches) {
  SyntheticBatches small;
  small.rule = {sample::Packing::by_count, 1, 0};
  const auto one = first_step(test::expert_setup());
  const auto other = first_step(test::expert_setup(), small);
  for (const char* name : {"train/loss", "train/moe_aux_loss", "train/grad_norm"}) {
    EXPECT_NEAR(one.at(name), other.at(name), 1e-5) << name;
  }
}

TEST(ExpertTrainer, balances_samples_that_have_nothing_else_to_learn) {
  TrainerSetup setup = test::expert_setup();
  const auto step_with = [&] {
    auto samples = SyntheticBatches{}.samples(0);
    for (auto& one : samples) one.reward = 1;  // all advantages are 0
    const parallel::Communicator alone;
    Trainer trainer(setup, test::random_weights(setup.model), alone);
    return trainer.step(test::batch_of(std::move(samples))).scalars.at("train/grad_norm");
  };
  EXPECT_GT(step_with(), 1e-6);
  setup.options.loss.moe_aux_loss_coeff = 0;
  EXPECT_EQ(step_with(), 0);
}

TEST(ExpertTrainer, balances_experts_and_learns_answers) {
  TrainerSetup setup = test::expert_setup();
  setup.options.loss.type = LossType::sft_loss;
  setup.options.loss.moe_aux_loss_coeff = 1;
  auto samples = SyntheticBatches{}.samples(0);
  for (auto& one : samples) one.log_probs.clear();
  auto weights = test::random_weights(setup.model);
  // A router that starts out with a preference.
  const model::ParameterLayout layout(setup.model);
  const auto& router =
      layout.tensors().at(static_cast<std::size_t>(layout.find("model.layers.1.mlp.gate.weight")));
  for (std::int64_t i = 0; i < router.size; ++i) {
    weights[static_cast<std::size_t>(router.offset + i)] *= 15;
  }
  const parallel::Communicator alone;
  Trainer trainer(setup, weights, alone);
  std::vector<base::Scalars> steps;
  for (int step = 0; step < 30; ++step) {
    steps.push_back(trainer.step(test::batch_of(samples)).scalars);
  }
  EXPECT_LT(steps.back().at("train/moe_aux_loss"), steps.front().at("train/moe_aux_loss") - 0.05);
  EXPECT_LT(steps.back().at("train/loss"), steps.front().at("train/loss") / 1.5);
}

TEST(ExpertTrainer, gives_the_same_bits_for_the_same_input) {
  const auto checksum = [] {
    const auto setup = test::expert_setup();
    const parallel::Communicator alone;
    Trainer trainer(setup, test::random_weights(setup.model), alone);
    for (int step = 0; step < 3; ++step) (void)trainer.step(SyntheticBatches{}.batch(step, 1, 0));
    return trainer.checksum();
  };
  EXPECT_EQ(checksum(), checksum());
}

TEST(ExpertTrainer, refuses_to_balance_a_model_without_experts) {
  TrainerSetup setup = test::tiny_setup();
  setup.options.loss.moe_aux_loss_coeff = 0.1;
  const parallel::Communicator alone;
  EXPECT_THROW(Trainer(setup, test::tiny_weights(), alone), base::UserError);
}

}  // namespace
}  // namespace physarum::training
