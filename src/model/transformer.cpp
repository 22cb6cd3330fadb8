#include "physarum/model/transformer.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "physarum/base/contracts.hpp"

#include "layer_stack.hpp"
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
    targets_.clear();
    for (const auto target : batch.targets) {
      rows_.push_back(target - 1);  // the token before predicts it
      targets_.push_back(batch.tokens[static_cast<std::size_t>(target)]);
    }
    options_ = options;
    if (rows_.empty()) return {};
    stack_.forward(weights(), batch, rows_, options.keep);
    return head_.forward(weights(), stack_.output(), targets_, options.temperature,
                         options.entropy);
  }

  void backward(std::span<const float> d_log_probs, std::span<const float> d_entropies) {
    base::expects(options_.keep == Keep::for_backward,
                  "backward() follows a forward() that kept its activations");
    base::expects(d_log_probs.size() == targets_.size(), "one gradient per log-probability");
    base::expects(d_entropies.empty() || (d_entropies.size() == targets_.size() &&
                                          options_.entropy == Entropy::compute),
                  "gradients of entropies need entropies");
    base::expects(!store_->gradients().empty(), "the store has no memory for gradients");
    options_.keep = Keep::nothing;
    if (targets_.empty()) return;
    float* gradients = store_->gradients().data();
    head_.backward(weights(), gradients, stack_.output(), targets_, d_log_probs, d_entropies,
                   stack_.d_output());
    stack_.backward(weights(), gradients);
  }

  std::vector<float> logits(const PackedBatch& batch) {
    batch.check(config_);
    options_.keep = Keep::nothing;
    std::vector<float> result(static_cast<std::size_t>(batch.n_tokens() * config_.vocab_size));
    if (batch.tokens.empty()) return result;
    rows_.resize(batch.tokens.size());
    std::iota(rows_.begin(), rows_.end(), std::int64_t{0});
    stack_.forward(weights(), batch, rows_, Keep::nothing);
    head_.logits(weights(), stack_.output(), batch.n_tokens(), result.data());
    return result;
  }

 private:
  [[nodiscard]] const float* weights() const { return std::as_const(*store_).values().data(); }

  ModelConfig config_;
  ParameterStore* store_;
  ModelOffsets offsets_;
  LayerStack stack_;
  ScoreHead head_;
  std::vector<std::int64_t> rows_;      ///< [N]
  std::vector<base::TokenId> targets_;  ///< [N]
  ForwardOptions options_;
};

Transformer::Transformer(const ModelConfig& config, ParameterStore& store)
    : impl_(std::make_unique<Impl>(config, store)) {}
Transformer::~Transformer() = default;
Transformer::Transformer(Transformer&&) noexcept = default;
Transformer& Transformer::operator=(Transformer&&) noexcept = default;

TokenScores Transformer::forward(const PackedBatch& batch, const ForwardOptions& options) {
  return impl_->forward(batch, options);
}

void Transformer::backward(std::span<const float> d_log_probs, std::span<const float> d_entropies) {
  impl_->backward(d_log_probs, d_entropies);
}

std::vector<float> Transformer::logits(const PackedBatch& batch) { return impl_->logits(batch); }

}  // namespace physarum::model
