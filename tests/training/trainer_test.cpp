#include "physarum/training/trainer.hpp"

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>

#include <gtest/gtest.h>
#include <unistd.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/storage/checkpoint_writer.hpp"

#include "physarum/weights/convert.hpp"

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/parameter_layout.hpp"

#include "training/synthetic.hpp"

namespace physarum::training {
namespace {

using test::SyntheticBatches;

struct Outcome {
  base::Digest checksum;
  std::vector<StepMetrics> steps;
};

/// `rollouts` rollout steps on one rank.
Outcome run(const TrainerSetup& setup, const SyntheticBatches& batches = {}, int rollouts = 3) {
  const parallel::Communicator alone;
  Trainer trainer(setup, test::tiny_weights(), alone);
  Outcome result;
  for (int step = 0; step < rollouts; ++step) {
    result.steps.push_back(trainer.step(batches.batch(step, 1, 0)));
  }
  result.checksum = trainer.checksum();
  return result;
}

/// A Hugging Face directory of tiny weights that goes with the test.
class ReferenceDirectory {
 public:
  explicit ReferenceDirectory(std::uint64_t seed)
      : path_(std::filesystem::temp_directory_path() /
              ("physarum_reference_" + std::to_string(seed) + "_" + std::to_string(getpid()))) {
    auto& files = storage::real_file_system();
    model::save_hf(files, path_, test::tiny_model(), test::tiny_weights(seed));
  }
  ~ReferenceDirectory() { std::filesystem::remove_all(path_); }
  ReferenceDirectory(const ReferenceDirectory&) = delete;
  ReferenceDirectory& operator=(const ReferenceDirectory&) = delete;
  ReferenceDirectory(ReferenceDirectory&&) = delete;
  ReferenceDirectory& operator=(ReferenceDirectory&&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(Trainer, gives_the_same_bits_for_the_same_input) {
  EXPECT_EQ(run(test::tiny_setup()).checksum, run(test::tiny_setup()).checksum);
}

TEST(Trainer, starts_each_rollout_with_ratio_1) {
  for (const std::int64_t steps_per_rollout : {1, 2}) {
    SyntheticBatches batches;
    batches.steps_per_rollout = steps_per_rollout;
    const Outcome result = run(test::tiny_setup(), batches);
    for (const auto& step : result.steps) {
      ASSERT_EQ(step.optimiser_steps.size(), static_cast<std::size_t>(steps_per_rollout));
      const auto& first = step.optimiser_steps.front();
      EXPECT_NEAR(first.at("train/ppo_kl"), 0, 1e-7);
      EXPECT_EQ(first.at("train/pg_clipfrac"), 0);
      EXPECT_EQ(step.scalars.count("perf/log_probs_time"), steps_per_rollout > 1 ? 1U : 0U);
      if (steps_per_rollout > 1) {
        EXPECT_GT(std::abs(step.optimiser_steps.back().at("train/ppo_kl")), 1e-5);
      }
    }
  }
}

TEST(Trainer, learns_what_is_rewarded) {
  SyntheticBatches batches;
  auto samples = batches.samples(0);
  for (auto& one : samples) one.removed = false;
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].reward = i % 4 == 1 ? 1 : 0;
  const parallel::Communicator alone;
  Trainer trainer(test::tiny_setup(), test::tiny_weights(), alone);
  const auto likelihood = [&](std::size_t index) {
    double sum = 0;
    for (const float one : trainer.log_probs(samples[index])) sum += static_cast<double>(one);
    return sum;
  };
  const double good = likelihood(5);
  const double bad = likelihood(6);
  for (int step = 0; step < 5; ++step) (void)trainer.step(test::batch_of(samples));
  EXPECT_GT(likelihood(5) - good, likelihood(6) - bad);
  EXPECT_GT(likelihood(5), good);
}

TEST(Trainer, learns_given_answers) {
  TrainerSetup setup = test::tiny_setup();
  setup.options.loss.type = LossType::sft_loss;
  auto samples = SyntheticBatches{}.samples(0);
  for (auto& one : samples) one.log_probs.clear();  // nobody drew them
  const parallel::Communicator alone;
  Trainer trainer(setup, test::tiny_weights(), alone);
  std::vector<double> losses;
  for (int step = 0; step < 20; ++step) {
    losses.push_back(trainer.step(test::batch_of(samples)).scalars.at("train/loss"));
  }
  EXPECT_NEAR(losses.front(), 3.7 * 15 / 16, 0.4);  // about log(40); one of 16 is removed
  EXPECT_LT(losses.back(), losses.front() / 2);
}

TEST(Trainer, does_not_depend_on_the_split_into_micro_batches) {
  const parallel::Communicator alone;
  Trainer one(test::tiny_setup(), test::tiny_weights(), alone);
  Trainer other(test::tiny_setup(), test::tiny_weights(), alone);
  SyntheticBatches small;
  small.rule = {sample::Packing::by_count, 1, 0};
  for (int step = 0; step < 3; ++step) {
    const auto mine = one.step(SyntheticBatches{}.batch(step, 1, 0)).scalars;
    const auto its = other.step(small.batch(step, 1, 0)).scalars;
    EXPECT_NEAR(mine.at("train/grad_norm"), its.at("train/grad_norm"), 1e-4);
    EXPECT_NEAR(mine.at("train/loss"), its.at("train/loss"), 1e-5);
  }
  for (std::size_t i = 0; i < one.masters().size(); ++i) {
    ASSERT_NEAR(one.masters()[i], other.masters()[i], 2e-4);
  }
}

TEST(Trainer, computes_with_masters_rounded_to_the_transfer_type) {
  TrainerSetup setup = test::tiny_setup();
  setup.transfer_type = weights::TransferType::bf16;
  const parallel::Communicator alone;
  Trainer trainer(setup, test::tiny_weights(), alone);
  for (int step = 0; step < 2; ++step) {
    std::vector<float> rounded(trainer.masters().begin(), trainer.masters().end());
    weights::round_to_transfer(rounded, setup.transfer_type);
    EXPECT_TRUE(std::ranges::equal(rounded, trainer.values()));
    EXPECT_FALSE(std::ranges::equal(trainer.masters(), trainer.values()));
    (void)trainer.step(SyntheticBatches{}.batch(step, 1, 0));
  }
}

TEST(Trainer, skips_and_counts_steps_whose_gradient_is_not_finite) {
  const parallel::Communicator alone;
  Trainer trainer(test::tiny_setup(), test::tiny_weights(), alone);
  auto samples = SyntheticBatches{}.samples(0);
  samples[3].reward = std::numeric_limits<double>::quiet_NaN();
  const auto before = trainer.checksum();
  EXPECT_EQ(trainer.step(test::batch_of(samples)).scalars.at("train/skipped_steps"), 1);
  EXPECT_EQ(trainer.checksum(), before);
  EXPECT_EQ(trainer.updates(), 0);
  const auto good = trainer.step(SyntheticBatches{}.batch(1, 1, 0)).scalars;
  EXPECT_EQ(good.at("train/skipped_steps"), 1);
  EXPECT_EQ(trainer.updates(), 1);
  EXPECT_NE(trainer.checksum(), before);
}

TEST(Trainer, leaves_weights_alone_when_every_group_has_equal_rewards) {
  auto samples = SyntheticBatches{}.samples(0);
  for (auto& one : samples) one.reward = 0.3;
  TrainerSetup setup = test::tiny_setup();
  setup.options.optimiser.weight_decay = 0;
  const parallel::Communicator alone;
  Trainer trainer(setup, test::tiny_weights(), alone);
  const auto before = trainer.checksum();
  const auto scalars = trainer.step(test::batch_of(samples)).scalars;
  EXPECT_EQ(scalars.at("train/grad_norm"), 0);
  EXPECT_EQ(trainer.checksum(), before);
  EXPECT_GT(scalars.at("train/entropy_loss"), 3);  // still observed
  EXPECT_EQ(scalars.at("perf/backward_token_ratio"), 0);
}

TEST(Trainer, has_kl_0_to_a_reference_with_its_own_weights) {
  const ReferenceDirectory same(3);
  const ReferenceDirectory other(4);
  TrainerSetup setup = test::tiny_setup();
  setup.transfer_type = weights::TransferType::bf16;
  setup.options.loss.use_kl_loss = true;
  setup.options.loss.kl_loss_type = KlType::k3;
  setup.options.loss.ref_load = same.path();
  const Outcome result = run(setup);
  EXPECT_EQ(result.steps[0].scalars.at("train/kl_loss"), 0);
  EXPECT_GT(result.steps[1].scalars.at("train/kl_loss"), 0);
  setup.options.loss.ref_load = other.path();
  EXPECT_GT(run(setup).steps[0].scalars.at("train/kl_loss"), 1e-4);
}

TEST(Trainer, writes_weights_that_load_again) {
  const parallel::Communicator alone;
  Trainer trainer(test::tiny_setup(), test::tiny_weights(), alone);
  (void)trainer.step(SyntheticBatches{}.batch(0, 1, 0));
  const auto directory =
      std::filesystem::temp_directory_path() / ("physarum_saved_" + std::to_string(getpid()));
  auto& files = storage::real_file_system();
  trainer.save_hf(files, directory);
  std::vector<float> loaded(trainer.masters().size());
  model::load_weights(directory, test::tiny_model(), loaded);
  EXPECT_TRUE(std::ranges::equal(loaded, trainer.masters()));
  std::filesystem::remove_all(directory);
}

TEST(Trainer, measures_how_far_the_rollout_s_log_probs_are_off) {
  auto samples = SyntheticBatches{}.samples(0);
  const parallel::Communicator alone;
  Trainer trainer(test::tiny_setup(), test::tiny_weights(), alone);
  for (auto& one : samples) {
    one.removed = false;
    const auto exact = trainer.log_probs(one);
    std::size_t next = 0;
    for (std::size_t i = 0; i < one.mask.size(); ++i) {
      if (one.mask[i] == 1) one.log_probs[i] = exact[next++] - 0.25F;
    }
  }
  const auto scalars = trainer.step(test::batch_of(samples)).scalars;
  EXPECT_NEAR(scalars.at("train/train_rollout_logprob_abs_diff"), 0.25, 1e-5);
}

/// Every option of the loss and of the optimiser changes what is learnt.
TEST(Trainer, shows_the_effect_of_every_option) {
  const ReferenceDirectory reference(4);
  SyntheticBatches batches;
  batches.steps_per_rollout = 2;  // ratios leave 1
  TrainerSetup base = test::tiny_setup();
  base.options.loss.use_kl_loss = true;
  base.options.loss.kl_loss_coef = 0.1;
  base.options.loss.ref_load = reference.path();
  base.options.optimiser.lr_decay_style = DecayStyle::linear;
  base.options.optimiser.lr_warmup_iters = 2;
  const auto checksum = run(base, batches).checksum;
  const std::map<std::string, std::function<void(TrainingOptions&)>> changes{
      {"loss-type", [](auto& o) { o.loss = {}, o.loss.type = LossType::sft_loss; }},
      {"disable-rewards-normalization",
       [](auto& o) { o.loss.disable_rewards_normalization = true; }},
      {"disable-grpo-std-normalization",
       [](auto& o) { o.loss.disable_grpo_std_normalization = true; }},
      {"normalize-advantages", [](auto& o) { o.loss.normalize_advantages = true; }},
      {"eps-clip", [](auto& o) { o.loss.eps_clip = 0.01, o.loss.eps_clip_high = 0.2; }},
      {"eps-clip-high", [](auto& o) { o.loss.eps_clip_high = 0.01; }},
      {"eps-clip-c", [](auto& o) { o.loss.eps_clip_c = 1.001; }},
      {"kl-loss-coef", [](auto& o) { o.loss.kl_loss_coef = 0.2; }},
      {"kl-loss-type", [](auto& o) { o.loss.kl_loss_type = KlType::k2; }},
      {"kl-loss-type k3", [](auto& o) { o.loss.kl_loss_type = KlType::k3; }},
      {"use-unbiased-kl", [](auto& o) { o.loss.use_unbiased_kl = true; }},
      {"entropy-coef", [](auto& o) { o.loss.entropy_coef = 0.01; }},
      {"calculate-per-token-loss", [](auto& o) { o.loss.calculate_per_token_loss = true; }},
      {"use-rollout-logprobs", [](auto& o) { o.loss.use_rollout_logprobs = true; }},
      {"use-tis", [](auto& o) { o.loss.use_tis = true; }},
      {"tis-clip", [](auto& o) { o.loss.use_tis = true, o.loss.tis_clip = 0.9; }},
      {"lr", [](auto& o) { o.optimiser.lr = 0.02; }},
      {"min-lr", [](auto& o) { o.optimiser.min_lr = 0.005; }},
      {"lr-decay-style", [](auto& o) { o.optimiser.lr_decay_style = DecayStyle::cosine; }},
      {"lr-decay-iters", [](auto& o) { o.optimiser.lr_decay_iters = 4; }},
      {"lr-warmup-iters", [](auto& o) { o.optimiser.lr_warmup_iters = 0; }},
      {"lr-warmup-fraction",
       [](auto& o) { o.optimiser.lr_warmup_iters = 0, o.optimiser.lr_warmup_fraction = 0.3; }},
      {"lr-warmup-init", [](auto& o) { o.optimiser.lr_warmup_init = 0.001; }},
      {"weight-decay", [](auto& o) { o.optimiser.weight_decay = 0.1; }},
      {"adam-beta1", [](auto& o) { o.optimiser.adam_beta1 = 0.8; }},
      {"adam-beta2", [](auto& o) { o.optimiser.adam_beta2 = 0.98; }},
      {"adam-eps", [](auto& o) { o.optimiser.adam_eps = 1e-3; }},
      {"clip-grad", [](auto& o) { o.optimiser.clip_grad = 0.01; }},
  };
  std::map<std::string, std::string> seen{{checksum.hex(), "none"}};
  for (const auto& [name, change] : changes) {
    TrainerSetup setup = base;
    change(setup.options);
    const auto [place, is_new] = seen.emplace(run(setup, batches).checksum.hex(), name);
    EXPECT_TRUE(is_new) << name << " learns the same as " << place->second;
  }
  TrainerSetup hot = base;
  hot.temperature = 1.5;
  EXPECT_NE(run(hot, batches).checksum, checksum);
}

TEST(Trainer, bounds_the_importance_weight_from_below) {
  TrainerSetup setup = test::tiny_setup();
  setup.options.loss.use_tis = true;
  setup.options.loss.tis_clip = 10;
  const Outcome free = run(setup);
  setup.options.loss.tis_clip_low = 5;
  const Outcome bounded = run(setup);
  EXPECT_NE(free.checksum, bounded.checksum);
  EXPECT_GT(bounded.steps[0].scalars.at("train/tis_clipfrac"), 0.5);
}

TEST(Trainer, refuses_wrong_options_and_missing_references) {
  const parallel::Communicator alone;
  TrainerSetup setup = test::tiny_setup();
  setup.options.loss.use_kl_loss = true;
  const auto make = [&] { const Trainer trainer(setup, test::tiny_weights(), alone); };
  EXPECT_THROW(make(), base::UserError);
  setup.options.loss.ref_load = "/nonexistent";
  EXPECT_THROW(make(), base::UserError);
}

TEST(Trainer, refuses_a_plan_for_other_ranks) {
  const parallel::Communicator alone;
  Trainer trainer(test::tiny_setup(), test::tiny_weights(), alone);
  EXPECT_THROW((void)trainer.step(SyntheticBatches{}.batch(0, 2, 0)), base::ContractViolation);
}

/// Saved after two steps and restored: the third is the one that would have come.
TEST(Trainer, goes_on_from_its_checkpoint_with_the_same_bits) {
  const parallel::Communicator alone;
  const auto directory =
      std::filesystem::temp_directory_path() / ("physarum_trainer_" + std::to_string(getpid()));
  auto setup = test::tiny_setup();
  setup.total_steps = 6;
  setup.options.optimiser.lr_decay_style = DecayStyle::linear;
  setup.transfer_type = weights::TransferType::bf16;
  const SyntheticBatches batches;
  Trainer whole(setup, test::tiny_weights(), alone);
  for (int step = 0; step < 2; ++step) (void)whole.step(batches.batch(step, 1, 0));
  storage::CheckpointWriter writer(storage::real_file_system(), {directory, 0, 20}, alone);
  const auto bulk = whole.bulk(OptimiserState::saved);
  storage::CheckpointContent content;
  content.step = 2;
  content.bulk = bulk.datasets;
  content.shares = storage::split_evenly(bulk.datasets, bulk.memory, 0, 1);
  content.rest = [&](storage::File& file) { whole.write_state(file); };
  writer.begin(content, storage::SaveMode::wait);
  ASSERT_TRUE(writer.take_outcomes().at(0).good);

  const storage::CheckpointReader checkpoint(storage::real_file_system(), directory / "step-2");
  std::vector<float> weights(test::tiny_weights().size());
  read_weights(checkpoint, setup.model, weights);
  Trainer again(setup, weights, alone);
  EXPECT_EQ(again.checksum(), whole.checksum());
  EXPECT_NE(again.state_checksum(), whole.state_checksum());
  again.restore(read_optimiser(checkpoint, setup.model));
  EXPECT_EQ(again.state_checksum(), whole.state_checksum());
  EXPECT_EQ(again.updates(), 2);
  (void)whole.step(batches.batch(2, 1, 0));
  (void)again.step(batches.batch(2, 1, 0));
  EXPECT_EQ(again.state_checksum(), whole.state_checksum());

  auto other = setup.model;
  other.num_hidden_layers = 1;
  std::vector<float> few(static_cast<std::size_t>(model::ParameterLayout(other).total()));
  EXPECT_THROW(read_weights(checkpoint, other, few), base::UserError);
  other.num_hidden_layers = 3;
  EXPECT_THROW((void)read_optimiser(checkpoint, other), base::UserError);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace physarum::training
