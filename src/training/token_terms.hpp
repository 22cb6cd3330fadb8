#pragma once

#include "physarum/training/options.hpp"

namespace physarum::training {

/// One token's part of a loss and its derivative by the token's log-probability.
struct TokenTerm {
  double value = 0;
  double derivative = 0;
};

/// The policy loss max(−ρA, −clip(ρ)A) with ρ = exp(log_prob − old); with a dual-clip constant c
/// and A < 0 at most −cA.
struct PolicyTerm {
  TokenTerm loss;
  double ratio = 1;
  bool clipped = false;  ///< the clipped ratio decides
};
[[nodiscard]] PolicyTerm policy_term(double log_prob, double old_log_prob, double advantage,
                                     const LossOptions& options);

/// KL estimate of one token (see KlType); with use_unbiased_kl multiplied by `ratio`, through
/// which the derivative runs too. low_var_kl is clamped last.
[[nodiscard]] TokenTerm kl_term(double log_prob, double reference_log_prob, double ratio,
                                const LossOptions& options);

/// exp(trainer − rollout) and its value truncated to [tis_clip_low, tis_clip]. A constant: it has
/// no derivative.
struct ImportanceWeight {
  double raw = 1;
  double truncated = 1;
};
[[nodiscard]] ImportanceWeight importance_weight(double trainer_log_prob, double rollout_log_prob,
                                                 const LossOptions& options);

}  // namespace physarum::training
