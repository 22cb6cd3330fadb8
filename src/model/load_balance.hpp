#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/model/config.hpp"
#include "physarum/model/expert_routing.hpp"

namespace physarum::model {

/// What the load-balancing loss adds to the gradients of router probabilities: the same for all
/// tokens of a sequence and all layers. Empty: nothing.
struct BalanceGradient {
  std::span<const std::int64_t> starts;    ///< [S + 1]: tokens of the sequences
  const float* d_probabilities = nullptr;  ///< [S, experts]
};

/// Load-balancing loss of each sequence, as transformers' load_balancing_loss_func computes it for
/// a batch of this sequence alone (Switch Transformer, arXiv:2101.03961, equations 4 to 6): over
/// all tokens of all layers with experts, the number of experts times the sum over experts of
/// (share of tokens that chose it) * (mean router probability). 1 * per_token if all are used
/// alike.
class LoadBalance {
 public:
  explicit LoadBalance(const ModelConfig& config);

  /// Sequence s is tokens [starts[s], starts[s + 1]).
  void begin(std::span<const std::int64_t> starts);
  /// The choices of one layer, for all tokens.
  void add(const ExpertRouting& routing);
  /// [S], once all layers are there.
  [[nodiscard]] std::span<const float> losses();
  /// `d_losses` [S].
  [[nodiscard]] BalanceGradient gradient(std::span<const float> d_losses);

 private:
  [[nodiscard]] std::size_t sequences() const { return starts_.size() - 1; }
  /// Number of experts / (tokens * layers)^2.
  [[nodiscard]] double scale(std::size_t sequence) const;
  std::int64_t experts_;
  std::int64_t layers_ = 0;  ///< that have been added
  std::vector<std::int64_t> starts_;
  std::vector<double> counts_;         ///< [S, experts]: choices
  std::vector<double> probabilities_;  ///< [S, experts]: sums over tokens and layers
  std::vector<float> losses_;
  std::vector<float> d_probabilities_;
};

}  // namespace physarum::model
