#include "physarum/training/options.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "training/synthetic.hpp"

namespace physarum::training {
namespace {

TrainingOptions read(const std::vector<std::string>& arguments) {
  TrainingOptions options;
  base::OptionTable table;
  declare_options(table, options);
  EXPECT_TRUE(base::read_arguments(arguments, table).empty());
  return options;
}

/// The message of the UserError that `arguments` end with.
std::string refusal(const std::vector<std::string>& arguments) {
  try {
    read(arguments).validate();
  } catch (const base::UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TrainingOptions, have_the_defaults_of_slime_and_megatron) {
  const TrainingOptions options = read({});
  EXPECT_EQ(options.optimiser.lr, 1e-6);
  EXPECT_EQ(options.optimiser.lr_decay_style, DecayStyle::linear);
  EXPECT_EQ(options.optimiser.weight_decay, 0.01);
  EXPECT_EQ(options.optimiser.adam_beta2, 0.999);
  EXPECT_EQ(options.optimiser.clip_grad, 1.0);
  EXPECT_EQ(options.loss.clip_high(), 0.2);
  EXPECT_EQ(options.loss.tis_clip, 2.0);
  options.validate();
}

TEST(TrainingOptions, are_set_by_their_flags) {
  const TrainingOptions options =
      read({"--lr", "1e-4", "--lr-decay-style", "cosine", "--lr-warmup-iters", "20",
            "--eps-clip-high", "0.28", "--kl-loss-type", "low_var_kl", "--use-kl-loss",
            "--ref-load", "models/x", "--calculate-per-token-loss", "--loss-type", "policy_loss"});
  EXPECT_EQ(options.optimiser.lr, 1e-4);
  EXPECT_EQ(options.optimiser.lr_decay_style, DecayStyle::cosine);
  EXPECT_EQ(options.optimiser.lr_warmup_iters, 20);
  EXPECT_EQ(options.loss.clip_high(), 0.28);
  EXPECT_EQ(options.loss.kl_loss_type, KlType::low_var_kl);
  EXPECT_TRUE(options.loss.use_kl_loss);
  EXPECT_EQ(options.loss.ref_load, "models/x");
  EXPECT_TRUE(options.loss.calculate_per_token_loss);
  options.validate();
}

TEST(TrainingOptions, that_do_not_fit_the_model_are_refused_by_flag) {
  const TrainingOptions options = read({"--moe-aux-loss-coeff", "0.01"});
  EXPECT_EQ(options.loss.moe_aux_loss_coeff, 0.01);
  options.validate();
  EXPECT_NO_THROW(options.validate(test::expert_setup().model));
  try {
    options.validate(test::tiny_model());
    ADD_FAILURE() << "a model without experts was accepted";
  } catch (const base::UserError& error) {
    EXPECT_NE(std::string(error.what()).find("--moe-aux-loss-coeff"), std::string::npos);
  }
  EXPECT_NO_THROW(read({}).validate(test::tiny_model()));
  EXPECT_NE(refusal({"--moe-aux-loss-coeff", "-1"}), "accepted");
}

TEST(TrainingOptions, that_do_not_fit_together_are_refused_by_flag) {
  const auto names = [](const std::vector<std::string>& arguments, const std::string& flag) {
    EXPECT_NE(refusal(arguments).find(flag), std::string::npos) << refusal(arguments);
  };
  names({"--eps-clip-c", "1"}, "--eps-clip-c");
  names({"--use-kl-loss"}, "--ref-load");
  names({"--kl-loss-coef", "0.1"}, "--use-kl-loss");
  names({"--use-unbiased-kl"}, "--use-kl-loss");
  names({"--use-tis", "--use-rollout-logprobs"}, "--use-rollout-logprobs");
  names({"--tis-clip-low", "3"}, "--tis-clip-low");
  names({"--min-lr", "1"}, "--min-lr");
  names({"--lr-warmup-init", "1"}, "--lr-warmup-init");
  names({"--lr-warmup-iters", "5", "--lr-warmup-fraction", "0.1"}, "--lr-warmup-fraction");
  names({"--lr-warmup-iters", "5", "--lr-decay-iters", "5"}, "--lr-warmup-iters");
  names({"--loss-type", "sft_loss", "--entropy-coef", "0.1"}, "--entropy-coef");
  names({"--loss-type", "sft_loss", "--use-tis"}, "--use-tis");
  names({"--advantage-estimator", "ppo"}, "--advantage-estimator");
  names({"--adam-beta1", "1"}, "--adam-beta1");
}

}  // namespace
}  // namespace physarum::training
