#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "physarum/base/metrics.hpp"
#include "physarum/base/token_sets.hpp"

#include "physarum/training/options.hpp"

namespace physarum::training {

/// What one optimiser step sums over its tokens: each value times the token's weight, so that the
/// sum over all micro-batches and ranks is the mean that is reported.
enum class Term : std::size_t {
  loss,
  pg_loss,
  pg_clipfrac,
  ppo_kl,
  ois,
  kl_loss,
  entropy_loss,
  tis,
  tis_clipfrac,
  tis_abs,
  logprob_abs_diff,
  moe_aux_loss,
  nucleus,       ///< tokens with a recorded nucleus
  nucleus_size,  ///< how many tokens it has
  count
};

class LossSums {
 public:
  void add(Term term, double value) { values_[static_cast<std::size_t>(term)] += value; }
  [[nodiscard]] double at(Term term) const { return values_[static_cast<std::size_t>(term)]; }
  /// For the sum over ranks.
  [[nodiscard]] std::span<double> values() { return values_; }

 private:
  std::array<double, static_cast<std::size_t>(Term::count)> values_{};
};

/// The trained tokens of one micro-batch, sample behind sample; N tokens, S samples. Spans that a
/// loss does not need may be empty.
struct TokenBatch {
  std::span<const std::int64_t> sample_starts;  ///< [S + 1]
  std::span<const double> advantages;           ///< [S]
  std::span<const double> token_weights;        ///< [S]: share of one of its tokens in the mean
  std::span<const float> log_probs;             ///< [N] of the policy that learns
  std::span<const float> entropies;             ///< [N]
  std::span<const float> old_log_probs;         ///< [N]; empty: log_probs, as constants
  std::span<const float> trainer_log_probs;     ///< [N] before the first step; empty: log_probs
  std::span<const float> rollout_log_probs;     ///< [N] as the engine computed them
  std::span<const float> reference_log_probs;   ///< [N]

  [[nodiscard]] std::size_t n_samples() const { return advantages.size(); }
};

/// d(loss)/d(log_prob) and d(loss)/d(entropy) of every token; [N] each, written whole.
struct TokenGradients {
  std::span<float> log_probs;
  std::span<float> entropies;  ///< may be empty if entropy_coef is 0
};

/// loss = policy − entropy_coef · entropy + kl_loss_coef · KL, weighted and summed over the tokens.
/// Adds to `sums`; the gradients are those of the sum. Needs entropies (only if entropy_coef is not
/// 0), rollout_log_probs (only with use_tis), reference_log_probs (only with use_kl_loss).
void policy_loss(const TokenBatch& batch, const LossOptions& options, LossSums& sums,
                 const TokenGradients& gradients);

/// loss = −log_prob, weighted and summed. Needs token_weights and log_probs.
void supervised_loss(const TokenBatch& batch, LossSums& sums, const TokenGradients& gradients);

/// loss = moe_aux_loss_coeff · load-balancing loss of each sample, which counts as much as its
/// trained tokens together. `losses` and `d_losses` [S]. Adds to `sums`. Needs sample_starts,
/// token_weights.
void balance_loss(const TokenBatch& batch, std::span<const float> losses,
                  const LossOptions& options, LossSums& sums, std::span<float> d_losses);

/// Sums how large the nuclei of the tokens are. `nuclei` has at most one of each token. Needs
/// sample_starts, token_weights.
void count_nuclei(const TokenBatch& batch, const base::TokenSets& nuclei, LossSums& sums);

/// Metrics under slime's names ("train/pg_loss" ...): those that the options make.
[[nodiscard]] base::Scalars loss_metrics(const LossSums& sums, const LossOptions& options);

}  // namespace physarum::training
