#include "physarum/training/options.hpp"

#include <limits>

#include "physarum/base/error.hpp"

namespace physarum::training {
namespace {

using base::UserError;

constexpr double unbounded = std::numeric_limits<double>::max();

void validate_clip(const LossOptions& loss) {
  if (loss.eps_clip_c && !(*loss.eps_clip_c > 1)) {
    throw UserError("the dual-clip constant must be greater than 1", "--eps-clip-c",
                    "give 3, or leave the flag out");
  }
  if (loss.tis_clip_low > loss.tis_clip) {
    throw UserError("the lower bound of the importance weight is above the upper one",
                    "--tis-clip-low", "give at most --tis-clip");
  }
}

void validate_sources(const LossOptions& loss) {
  if (loss.use_kl_loss && loss.ref_load.empty()) {
    throw UserError("the KL loss has no reference model", "--use-kl-loss",
                    "name its Hugging Face directory with --ref-load");
  }
  if (loss.use_rollout_logprobs && loss.use_tis) {
    throw UserError("log-probs of the rollout as old policy leave nothing to correct",
                    "--use-rollout-logprobs", "give only one of it and --use-tis");
  }
  if (!loss.use_kl_loss && (loss.kl_loss_coef != 0 || loss.use_unbiased_kl)) {
    throw UserError("a KL setting is given, but the KL loss is off",
                    loss.use_unbiased_kl ? "--use-unbiased-kl" : "--kl-loss-coef",
                    "add --use-kl-loss and --ref-load");
  }
}

void validate_supervised(const LossOptions& loss) {
  if (loss.type != LossType::sft_loss) return;
  const char* flag = loss.use_kl_loss            ? "--use-kl-loss"
                     : loss.entropy_coef != 0    ? "--entropy-coef"
                     : loss.use_tis              ? "--use-tis"
                     : loss.use_rollout_logprobs ? "--use-rollout-logprobs"
                     : loss.normalize_advantages ? "--normalize-advantages"
                                                 : nullptr;
  if (flag != nullptr) {
    throw UserError("this belongs to the policy loss, but --loss-type is sft_loss", flag,
                    "leave it out, or give --loss-type policy_loss");
  }
}

void validate_schedule(const OptimiserOptions& optimiser) {
  if (optimiser.min_lr > optimiser.lr) {
    throw UserError("the smallest learning rate is above the largest", "--min-lr",
                    "give at most --lr");
  }
  if (optimiser.lr_warmup_init > optimiser.lr) {
    throw UserError("warm-up starts above the learning rate", "--lr-warmup-init",
                    "give at most --lr");
  }
  if (optimiser.lr_warmup_fraction && optimiser.lr_warmup_iters != 0) {
    throw UserError("the length of the warm-up is given twice", "--lr-warmup-fraction",
                    "give only one of it and --lr-warmup-iters");
  }
  if (optimiser.lr_decay_iters && optimiser.lr_warmup_iters >= *optimiser.lr_decay_iters) {
    throw UserError("the warm-up is as long as the whole schedule", "--lr-warmup-iters",
                    "give less than --lr-decay-iters");
  }
}

void declare_policy(base::OptionTable& table, LossOptions& loss) {
  table.add_choice("loss-type", loss.type,
                   "What is minimised: GRPO's policy loss, or the "
                   "negative log-likelihood of given answers.",
                   {"policy_loss", "sft_loss"});
  table.add_choice("advantage-estimator", loss.advantage_estimator,
                   "How rewards become advantages: relative to the other samples of the prompt.",
                   {"grpo"});
  table.add_switch("disable-rewards-normalization", loss.disable_rewards_normalization,
                   "Use raw rewards as advantages: no centring in the group.");
  table.add_switch("disable-grpo-std-normalization", loss.disable_grpo_std_normalization,
                   "Centre rewards in the group, but do not divide by their deviation.");
  table.add_switch("normalize-advantages", loss.normalize_advantages,
                   "Whiten advantages over all trained tokens of the rollout.");
  table.add("eps-clip", loss.eps_clip, "The importance ratio is clipped below at 1 minus this.",
            {0, 1});
  table.add("eps-clip-high", loss.eps_clip_high,
            "The importance ratio is clipped above at 1 plus this; default: --eps-clip.",
            {0, unbounded});
  table.add("eps-clip-c", loss.eps_clip_c,
            "Dual clip: bound of the loss for negative advantages, greater than 1.",
            {1, unbounded});
  table.add("entropy-coef", loss.entropy_coef, "Weight of the entropy bonus.", {0, unbounded});
  table.add("moe-aux-loss-coeff", loss.moe_aux_loss_coeff,
            "Weight of the load-balancing loss of models with experts.", {0, unbounded});
  table.add_switch("calculate-per-token-loss", loss.calculate_per_token_loss,
                   "Average over all trained tokens, not over samples of their token means.");
}

void declare_kl(base::OptionTable& table, LossOptions& loss) {
  table.add_switch("use-kl-loss", loss.use_kl_loss,
                   "Compute the KL divergence from the reference and add it to the loss.");
  table.add("kl-loss-coef", loss.kl_loss_coef, "Weight of the KL loss; 0 only reports it.",
            {0, unbounded});
  table.add_choice("kl-loss-type", loss.kl_loss_type, "Estimator of the KL divergence.",
                   {"k1", "k2", "k3", "low_var_kl"});
  table.add_switch("use-unbiased-kl", loss.use_unbiased_kl,
                   "Multiply the KL estimate by the importance ratio.");
  table.add("ref-load", loss.ref_load, "Hugging Face directory of the reference model.");
}

void declare_correction(base::OptionTable& table, LossOptions& loss) {
  table.add_switch("use-rollout-logprobs", loss.use_rollout_logprobs,
                   "Take the engine's log-probs as those of the old policy.");
  table.add_switch("use-tis", loss.use_tis,
                   "Weight the loss by the truncated ratio of trainer's to engine's policy.");
  table.add("tis-clip", loss.tis_clip, "Upper bound of that weight.", {0, unbounded});
  table.add("tis-clip-low", loss.tis_clip_low, "Lower bound of that weight.", {0, unbounded});
}

void declare_schedule(base::OptionTable& table, OptimiserOptions& optimiser) {
  constexpr std::int64_t many = std::numeric_limits<std::int64_t>::max();
  table.add("lr", optimiser.lr, "Learning rate after warm-up.", {0, unbounded});
  table.add("min-lr", optimiser.min_lr, "Learning rate at and after the end of the decay.",
            {0, unbounded});
  table.add_choice("lr-decay-style", optimiser.lr_decay_style,
                   "How the learning rate goes from --lr to --min-lr.",
                   {"constant", "linear", "cosine"});
  table.add("lr-decay-iters", optimiser.lr_decay_iters,
            "Optimiser steps until the decay ends, warm-up included; default: all of the run.",
            {1, many});
  table.add("lr-warmup-iters", optimiser.lr_warmup_iters,
            "Optimiser steps in which the learning rate rises; the first has --lr-warmup-init.",
            {0, many});
  table.add("lr-warmup-fraction", optimiser.lr_warmup_fraction,
            "Length of the warm-up as a share of the decay.", {0, 1});
  table.add("lr-warmup-init", optimiser.lr_warmup_init,
            "Learning rate of the first step of a "
            "warm-up.",
            {0, unbounded});
}

void declare_adam(base::OptionTable& table, OptimiserOptions& optimiser) {
  table.add("weight-decay", optimiser.weight_decay,
            "Decoupled weight decay of matrices; norms and biases have none.", {0, unbounded});
  table.add("adam-beta1", optimiser.adam_beta1, "Decay of Adam's mean of gradients.",
            {0, 0.999999999});
  table.add("adam-beta2", optimiser.adam_beta2, "Decay of Adam's mean of squared gradients.",
            {0, 0.999999999});
  table.add("adam-eps", optimiser.adam_eps, "Added to Adam's denominator.", {1e-30, unbounded});
  table.add("clip-grad", optimiser.clip_grad,
            "Largest global norm of the gradient; 0 switches clipping off.", {0, unbounded});
}

}  // namespace

void TrainingOptions::validate() const {
  validate_clip(loss);
  validate_sources(loss);
  validate_supervised(loss);
  validate_schedule(optimiser);
}

void TrainingOptions::validate(const model::ModelConfig& model) const {
  if (loss.moe_aux_loss_coeff != 0 && !model.has_experts()) {
    throw UserError("this model (" + model.model_type + ") has no experts to balance",
                    "--moe-aux-loss-coeff", "leave it out, or train a qwen3_moe or mixtral");
  }
}

void declare_options(base::OptionTable& table, TrainingOptions& options) {
  table.topic("algorithm");
  declare_policy(table, options.loss);
  declare_kl(table, options.loss);
  declare_correction(table, options.loss);
  table.topic("optimizer");
  declare_schedule(table, options.optimiser);
  declare_adam(table, options.optimiser);
}

}  // namespace physarum::training
