#include "loss.hpp"

#include <cmath>

#include "physarum/base/contracts.hpp"

#include "token_terms.hpp"

namespace physarum::training {
namespace {

using base::expects;

/// The scalars of one token.
struct Token {
  std::size_t index = 0;
  double weight = 0;
  double advantage = 0;
  double log_prob = 0;
};

double value_or(std::span<const float> values, std::size_t index, double otherwise) {
  return values.empty() ? otherwise : static_cast<double>(values[index]);
}

template <class PerToken>
void for_each_token(const TokenBatch& batch, PerToken&& per_token) {
  for (std::size_t s = 0; s < batch.n_samples(); ++s) {
    const auto end = static_cast<std::size_t>(batch.sample_starts[s + 1]);
    for (auto i = static_cast<std::size_t>(batch.sample_starts[s]); i < end; ++i) {
      per_token(Token{i, batch.token_weights[s], batch.advantages[s],
                      static_cast<double>(batch.log_probs[i])});
    }
  }
}

/// The weight of the policy term, with what TIS reports.
double correction(const TokenBatch& batch, const Token& token, const LossOptions& options,
                  LossSums& sums) {
  if (batch.rollout_log_probs.empty()) return 1;
  const double rollout = static_cast<double>(batch.rollout_log_probs[token.index]);
  const double trainer = value_or(batch.trainer_log_probs, token.index, token.log_prob);
  sums.add(Term::logprob_abs_diff, token.weight * std::abs(trainer - rollout));
  if (!options.use_tis) return 1;
  const ImportanceWeight weight = importance_weight(trainer, rollout, options);
  sums.add(Term::tis, token.weight * weight.raw);
  sums.add(Term::tis_abs, token.weight * std::abs(weight.raw - 1));
  sums.add(Term::tis_clipfrac, weight.raw != weight.truncated ? token.weight : 0);
  return weight.truncated;
}

TokenTerm policy_part(const TokenBatch& batch, const Token& token, const LossOptions& options,
                      LossSums& sums, double& ratio) {
  const double old = value_or(batch.old_log_probs, token.index, token.log_prob);
  const PolicyTerm term = policy_term(token.log_prob, old, token.advantage, options);
  const double scale = correction(batch, token, options, sums);
  ratio = term.ratio;
  sums.add(Term::pg_clipfrac, term.clipped ? token.weight : 0);
  sums.add(Term::ppo_kl, token.weight * (old - token.log_prob));
  sums.add(Term::ois, token.weight * term.ratio);
  sums.add(Term::pg_loss, token.weight * scale * term.loss.value);
  return {scale * term.loss.value, scale * term.loss.derivative};
}

void add_kl(const TokenBatch& batch, const Token& token, const LossOptions& options, LossSums& sums,
            double ratio, TokenTerm& total) {
  if (!options.use_kl_loss) return;
  const double reference = static_cast<double>(batch.reference_log_probs[token.index]);
  const TokenTerm kl = kl_term(token.log_prob, reference, ratio, options);
  sums.add(Term::kl_loss, token.weight * kl.value);
  total.value += options.kl_loss_coef * kl.value;
  total.derivative += options.kl_loss_coef * kl.derivative;
}

void add_entropy(const TokenBatch& batch, const Token& token, const LossOptions& options,
                 LossSums& sums, const TokenGradients& gradients, TokenTerm& total) {
  if (!gradients.entropies.empty()) {
    gradients.entropies[token.index] = static_cast<float>(-token.weight * options.entropy_coef);
  }
  if (batch.entropies.empty()) return;
  const double entropy = static_cast<double>(batch.entropies[token.index]);
  sums.add(Term::entropy_loss, token.weight * entropy);
  total.value -= options.entropy_coef * entropy;
}

void check_policy(const TokenBatch& batch, const LossOptions& options,
                  const TokenGradients& gradients) {
  const std::size_t n = batch.log_probs.size();
  expects(gradients.log_probs.size() == n, "a gradient for every token");
  expects(batch.sample_starts.size() == batch.n_samples() + 1 &&
              batch.token_weights.size() == batch.n_samples(),
          "samples have starts, advantages and weights");
  expects(options.entropy_coef == 0 || batch.entropies.size() == n, "entropies are needed");
  expects(options.entropy_coef == 0 || gradients.entropies.size() == n, "as are their gradients");
  expects(!options.use_tis || batch.rollout_log_probs.size() == n, "rollout log-probs are needed");
  expects(!options.use_kl_loss || batch.reference_log_probs.size() == n,
          "reference log-probs are needed");
}

}  // namespace

void policy_loss(const TokenBatch& batch, const LossOptions& options, LossSums& sums,
                 const TokenGradients& gradients) {
  check_policy(batch, options, gradients);
  for_each_token(batch, [&](const Token& token) {
    double ratio = 1;
    TokenTerm total = policy_part(batch, token, options, sums, ratio);
    add_kl(batch, token, options, sums, ratio, total);
    add_entropy(batch, token, options, sums, gradients, total);
    sums.add(Term::loss, token.weight * total.value);
    gradients.log_probs[token.index] = static_cast<float>(token.weight * total.derivative);
  });
}

void supervised_loss(const TokenBatch& batch, LossSums& sums, const TokenGradients& gradients) {
  expects(gradients.log_probs.size() == batch.log_probs.size(), "a gradient for every token");
  for_each_token(batch, [&](const Token& token) {
    sums.add(Term::loss, -token.weight * token.log_prob);
    gradients.log_probs[token.index] = static_cast<float>(-token.weight);
  });
}

void balance_loss(const TokenBatch& batch, std::span<const float> losses,
                  const LossOptions& options, LossSums& sums, std::span<float> d_losses) {
  expects(losses.size() == batch.n_samples() && d_losses.size() == batch.n_samples(),
          "a load-balancing loss of every sample, and its gradient");
  for (std::size_t s = 0; s < batch.n_samples(); ++s) {
    const auto tokens = static_cast<double>(batch.sample_starts[s + 1] - batch.sample_starts[s]);
    const double share = batch.token_weights[s] * tokens;
    const double loss = static_cast<double>(losses[s]);
    sums.add(Term::moe_aux_loss, share * loss);
    sums.add(Term::loss, share * options.moe_aux_loss_coeff * loss);
    d_losses[s] = static_cast<float>(share * options.moe_aux_loss_coeff);
  }
}

void count_nuclei(const TokenBatch& batch, const base::TokenSets& nuclei, LossSums& sums) {
  if (nuclei.empty()) return;
  for_each_token(batch, [&](const Token& token) {
    const auto nucleus = nuclei.at(static_cast<std::int64_t>(token.index));
    if (nucleus.empty()) return;
    sums.add(Term::nucleus, token.weight);
    sums.add(Term::nucleus_size, token.weight * static_cast<double>(nucleus.size()));
  });
}

base::Scalars loss_metrics(const LossSums& sums, const LossOptions& options) {
  base::Scalars scalars{{"train/loss", sums.at(Term::loss)}};
  if (options.moe_aux_loss_coeff != 0) {
    scalars["train/moe_aux_loss"] = sums.at(Term::moe_aux_loss);
  }
  if (options.type == LossType::sft_loss) return scalars;
  scalars["train/pg_loss"] = sums.at(Term::pg_loss);
  scalars["train/pg_clipfrac"] = sums.at(Term::pg_clipfrac);
  scalars["train/ppo_kl"] = sums.at(Term::ppo_kl);
  scalars["train/ois"] = sums.at(Term::ois);
  scalars["train/train_rollout_logprob_abs_diff"] = sums.at(Term::logprob_abs_diff);
  if (sums.at(Term::nucleus) > 0) {
    scalars["rollout/top_p_kept_vocab_per_token"] =
        sums.at(Term::nucleus_size) / sums.at(Term::nucleus);
  }
  if (options.use_kl_loss) scalars["train/kl_loss"] = sums.at(Term::kl_loss);
  scalars["train/entropy_loss"] = sums.at(Term::entropy_loss);
  if (options.use_tis) {
    scalars["train/tis"] = sums.at(Term::tis);
    scalars["train/tis_clipfrac"] = sums.at(Term::tis_clipfrac);
    scalars["train/tis_abs"] = sums.at(Term::tis_abs);
  }
  return scalars;
}

}  // namespace physarum::training
