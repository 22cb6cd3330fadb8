#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "physarum/model/config.hpp"
#include "physarum/model/packed_batch.hpp"
#include "physarum/model/parameter_store.hpp"

namespace physarum::model {

enum class Keep { nothing, for_backward };
enum class Entropy { skip, compute };
enum class LoadBalancing { skip, compute };

struct ForwardOptions {
  double temperature = 1.0;  ///< logits are divided by it; > 0
  Keep keep = Keep::nothing;
  Entropy entropy = Entropy::skip;
  /// Of models with experts only.
  LoadBalancing balancing = LoadBalancing::skip;
};

/// One value per target of the batch, in its order (balance_losses: per sequence); the memory
/// belongs to the transformer and holds until its next forward().
struct TokenScores {
  std::span<const float> log_probs;  ///< natural logarithm
  /// Of all tokens, or of the target's nucleus, in nats; empty with Entropy::skip.
  std::span<const float> entropies;
  /// Load-balancing loss of each sequence over its tokens and all layers with experts: experts *
  /// sum over experts of (choices of it / rows) * (mean router probability), as transformers'
  /// load_balancing_loss_func gives it for a batch of this sequence alone. Empty with
  /// LoadBalancing::skip and for batches without targets.
  std::span<const float> balance_losses = {};
};

/// Forward and backward pass over packed batches, fp32, written out by hand: each layer's few
/// activations stay in one workspace, gradients are added straight into the store's flat gradient
/// buffer. Same input, same bits. One thread uses it at a time; several
/// transformers may share a store if only one of them runs backward.
class Transformer {
 public:
  /// `store` was made from `config` and outlives the transformer.
  Transformer(const ModelConfig& config, ParameterStore& store);
  ~Transformer();
  Transformer(const Transformer&) = delete;
  Transformer& operator=(const Transformer&) = delete;
  Transformer(Transformer&&) noexcept;
  Transformer& operator=(Transformer&&) noexcept;

  /// Log-probabilities (and entropies) of the batch's targets; of a target with a nucleus those of
  /// the softmax over it, to the bits of an engine that drew from it.
  [[nodiscard]] TokenScores forward(const PackedBatch& batch, const ForwardOptions& options);

  /// Adds d(loss)/d(parameter) to the store's gradients, given d(loss)/d(log_prob) per target of
  /// the last forward(), which must have kept its activations; they are used up. `d_entropies` may
  /// be empty; if not, that forward() must have computed entropies. The same holds of
  /// `d_balance_losses`, one per sequence, and load balancing.
  void backward(std::span<const float> d_log_probs, std::span<const float> d_entropies = {},
                std::span<const float> d_balance_losses = {});

  /// Logits of all tokens, [T, vocab_size], temperature 1. For tests and inspection.
  [[nodiscard]] std::vector<float> logits(const PackedBatch& batch);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace physarum::model
