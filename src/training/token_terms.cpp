#include "token_terms.hpp"

#include <algorithm>
#include <cmath>

namespace physarum::training {
namespace {

constexpr double low_var_bound = 10;

TokenTerm plain_kl(double difference, KlType type) {
  switch (type) {
    case KlType::k1:
      return {difference, 1};
    case KlType::k2:
      return {difference * difference / 2, difference};
    case KlType::k3:
    case KlType::low_var_kl:
      break;
  }
  const double inverse = std::exp(-difference);
  return {inverse - 1 + difference, 1 - inverse};
}

TokenTerm clamped(TokenTerm term, double bound) {
  if (std::abs(term.value) <= bound) return term;
  return {std::clamp(term.value, -bound, bound), 0};
}

}  // namespace

PolicyTerm policy_term(double log_prob, double old_log_prob, double advantage,
                       const LossOptions& options) {
  PolicyTerm term;
  term.ratio = std::exp(log_prob - old_log_prob);
  const double bounded = std::clamp(term.ratio, 1 - options.eps_clip, 1 + options.clip_high());
  const double free_loss = -term.ratio * advantage;
  const double bounded_loss = -bounded * advantage;
  term.clipped = bounded_loss > free_loss;
  // d ρ / d log_prob = ρ; a bounded ratio that decides is a constant.
  term.loss = term.clipped ? TokenTerm{bounded_loss, 0} : TokenTerm{free_loss, free_loss};
  if (options.eps_clip_c && advantage < 0) {
    const double ceiling = -*options.eps_clip_c * advantage;
    if (term.loss.value > ceiling) term.loss = {ceiling, 0};
  }
  return term;
}

TokenTerm kl_term(double log_prob, double reference_log_prob, double ratio,
                  const LossOptions& options) {
  TokenTerm term = plain_kl(log_prob - reference_log_prob, options.kl_loss_type);
  if (options.use_unbiased_kl) {
    term = {ratio * term.value, ratio * (term.value + term.derivative)};
  }
  return options.kl_loss_type == KlType::low_var_kl ? clamped(term, low_var_bound) : term;
}

ImportanceWeight importance_weight(double trainer_log_prob, double rollout_log_prob,
                                   const LossOptions& options) {
  const double raw = std::exp(trainer_log_prob - rollout_log_prob);
  return {raw, std::clamp(raw, options.tis_clip_low, options.tis_clip)};
}

}  // namespace physarum::training
