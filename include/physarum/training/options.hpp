#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "physarum/base/options.hpp"

#include "physarum/model/config.hpp"

namespace physarum::training {

enum class LossType { policy_loss, sft_loss };
enum class AdvantageEstimator { grpo };
/// Estimators of KL(policy, base) from d = log_prob − base log_prob of one token: d, d²/2,
/// exp(−d) − 1 + d, and the last one clamped to [−10, 10].
enum class KlType { k1, k2, k3, low_var_kl };
enum class DecayStyle { constant, linear, cosine };

/// What is learnt from a batch.
struct LossOptions {
  LossType type = LossType::policy_loss;
  AdvantageEstimator advantage_estimator = AdvantageEstimator::grpo;
  bool disable_rewards_normalization = false;   ///< advantages are the raw rewards
  bool disable_grpo_std_normalization = false;  ///< rewards are centred only
  bool normalize_advantages = false;            ///< whiten over all trained tokens of the rollout
  double eps_clip = 0.2;                        ///< ratio is clipped below at 1 − this
  std::optional<double> eps_clip_high;          ///< and above at 1 + this; unset: eps_clip
  std::optional<double> eps_clip_c;             ///< dual clip for negative advantages; > 1
  bool use_kl_loss = false;
  double kl_loss_coef = 0.0;
  KlType kl_loss_type = KlType::k1;
  bool use_unbiased_kl = false;  ///< the estimate is multiplied by the importance ratio
  std::string ref_load;          ///< Hugging Face directory of the frozen reference
  double entropy_coef = 0.0;
  double moe_aux_loss_coeff = 0.0;  ///< of the load-balancing loss; models with experts only
  bool calculate_per_token_loss = false;
  bool use_rollout_logprobs = false;  ///< the engine's log-probs are the old policy's
  bool use_tis = false;               ///< truncated importance sampling
  double tis_clip = 2.0;
  double tis_clip_low = 0.0;

  [[nodiscard]] double clip_high() const { return eps_clip_high.value_or(eps_clip); }
};

/// How a step changes the weights.
struct OptimiserOptions {
  double lr = 1e-6;
  double min_lr = 0.0;
  DecayStyle lr_decay_style = DecayStyle::linear;
  std::optional<std::int64_t> lr_decay_iters;  ///< unset: all optimiser steps of the run
  std::int64_t lr_warmup_iters = 0;
  std::optional<double> lr_warmup_fraction;  ///< of the decay iterations; instead of warmup iters
  double lr_warmup_init = 0.0;
  double weight_decay = 0.01;  ///< decoupled; tensors of two and more dimensions only
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_eps = 1e-8;
  double clip_grad = 1.0;  ///< largest global norm of the gradient; 0: not clipped
};

struct TrainingOptions {
  LossOptions loss;
  OptimiserOptions optimiser;
  /// Throws UserError for values that do not fit together.
  void validate() const;
  /// Throws UserError for values that do not fit the model.
  void validate(const model::ModelConfig& model) const;
};

/// Flags with slime's and Megatron's names and defaults, topics "algorithm" and "optimizer".
void declare_options(base::OptionTable& table, TrainingOptions& options);

}  // namespace physarum::training
