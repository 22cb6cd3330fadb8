#include "physarum/model/transformer.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "physarum/base/contracts.hpp"

#include "layer_stack.hpp"
#include "row_selection.hpp"
#include "score_head.hpp"

namespace physarum::model {

class Transformer::Impl {
 public:
  Impl(const ModelConfig& config, ParameterStore& store)
      : config_(config),
        store_(&store),
        offsets_(model_offsets(config_, store.layout())),
        stack_(config_, offsets_),
        head_(config_, offsets_) {}
  // Parts hold pointers to config_.
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  TokenScores forward(const PackedBatch& batch, const ForwardOptions& options) {
    base::expects(std::isfinite(options.temperature) && options.temperature > 0,
                  "the temperature must be positive");
    batch.check(config_);
    rows_.clear();
    targets_.tokens.clear();
    targets_.nuclei = batch.nuclei;
    for (const auto target : batch.targets) {
      rows_.push_back(target - 1);  // the token before predicts it
      targets_.tokens.push_back(batch.tokens[static_cast<std::size_t>(target)]);
    }
    options_ = options;
    if (rows_.empty()) return {};
    if (options.balancing == LoadBalancing::compute) return forward_balanced(batch);
    stack_.forward(weights(), batch, rows_, options.keep, LoadBalancing::skip);
    return head_.forward(weights(), stack_.output(), targets_, options.temperature,
                         options.entropy);
  }

  void backward(std::span<const float> d_log_probs, std::span<const float> d_entropies,
                std::span<const float> d_balance_losses) {
    base::expects(options_.keep == Keep::for_backward,
                  "backward() follows a forward() that kept its activations");
    base::expects(d_log_probs.size() == targets_.tokens.size(), "one gradient per log-probability");
    base::expects(d_entropies.empty() || (d_entropies.size() == targets_.tokens.size() &&
                                          options_.entropy == Entropy::compute),
                  "gradients of entropies need entropies");
    base::expects(!store_->gradients().empty(), "the store has no memory for gradients");
    options_.keep = Keep::nothing;
    if (targets_.tokens.empty()) return;
    float* gradients = store_->gradients().data();
    if (options_.balancing == LoadBalancing::compute) {
      d_selected_.reserve(count(rows_) * config_.hidden_size);
      head_.backward(weights(), gradients, selected_.data(), targets_, d_log_probs, d_entropies,
                     d_selected_.data());
      scatter_rows(d_selected_.data(), rows_, config_.hidden_size, tokens_, stack_.d_output());
    } else {
      head_.backward(weights(), gradients, stack_.output(), targets_, d_log_probs, d_entropies,
                     stack_.d_output());
    }
    stack_.backward(weights(), gradients, d_balance_losses);
  }

  std::vector<float> logits(const PackedBatch& batch) {
    batch.check(config_);
    options_.keep = Keep::nothing;
    std::vector<float> result(static_cast<std::size_t>(batch.n_tokens() * config_.vocab_size));
    if (batch.tokens.empty()) return result;
    stack_.forward(weights(), batch, all_rows(batch), Keep::nothing, LoadBalancing::skip);
    head_.logits(weights(), stack_.output(), batch.n_tokens(), result.data());
    return result;
  }

 private:
  static std::int64_t count(const std::vector<std::int64_t>& rows) {
    return static_cast<std::int64_t>(rows.size());
  }
  static std::vector<std::int64_t> all_rows(const PackedBatch& batch) {
    std::vector<std::int64_t> rows(batch.tokens.size());
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    return rows;
  }
  /// The load balance is about all tokens, in the last layer too; the scores are not.
  TokenScores forward_balanced(const PackedBatch& batch) {
    tokens_ = batch.n_tokens();
    stack_.forward(weights(), batch, all_rows(batch), options_.keep, LoadBalancing::compute);
    selected_.reserve(count(rows_) * config_.hidden_size);
    gather_rows(stack_.output(), rows_, config_.hidden_size, selected_.data());
    auto scores = head_.forward(weights(), selected_.data(), targets_, options_.temperature,
                                options_.entropy);
    scores.balance_losses = stack_.balance_losses();
    return scores;
  }
  [[nodiscard]] const float* weights() const { return std::as_const(*store_).values().data(); }

  ModelConfig config_;
  ParameterStore* store_;
  ModelOffsets offsets_;
  LayerStack stack_;
  ScoreHead head_;
  std::vector<std::int64_t> rows_;  ///< [N]
  ScoreTargets targets_;            ///< [N]
  ForwardOptions options_;
  // With load balancing only.
  std::int64_t tokens_ = 0;
  AlignedBuffer selected_;    ///< [N, hidden]: the rows that are scored
  AlignedBuffer d_selected_;  ///< [N, hidden]
};

Transformer::Transformer(const ModelConfig& config, ParameterStore& store)
    : impl_(std::make_unique<Impl>(config, store)) {}
Transformer::~Transformer() = default;
Transformer::Transformer(Transformer&&) noexcept = default;
Transformer& Transformer::operator=(Transformer&&) noexcept = default;

TokenScores Transformer::forward(const PackedBatch& batch, const ForwardOptions& options) {
  return impl_->forward(batch, options);
}

void Transformer::backward(std::span<const float> d_log_probs, std::span<const float> d_entropies,
                           std::span<const float> d_balance_losses) {
  impl_->backward(d_log_probs, d_entropies, d_balance_losses);
}

std::vector<float> Transformer::logits(const PackedBatch& batch) { return impl_->logits(batch); }

}  // namespace physarum::model
