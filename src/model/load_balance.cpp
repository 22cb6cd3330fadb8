#include "load_balance.hpp"

#include "physarum/base/contracts.hpp"

namespace physarum::model {

LoadBalance::LoadBalance(const ModelConfig& config) : experts_(config.experts.count) {}

void LoadBalance::begin(std::span<const std::int64_t> starts) {
  starts_.assign(starts.begin(), starts.end());
  layers_ = 0;
  counts_.assign(sequences() * static_cast<std::size_t>(experts_), 0.0);
  probabilities_.assign(counts_.size(), 0.0);
}

void LoadBalance::add(const ExpertRouting& routing) {
  base::expects(routing.rows() == starts_.back(), "all tokens have chosen their experts");
  ++layers_;
  const auto per_token = routing.rows() > 0 ? routing.choices() / routing.rows() : 0;
  for (std::size_t s = 0; s < sequences(); ++s) {
    double* counts = counts_.data() + static_cast<std::int64_t>(s) * experts_;
    double* sums = probabilities_.data() + static_cast<std::int64_t>(s) * experts_;
    for (auto token = starts_[s]; token < starts_[s + 1]; ++token) {
      for (auto choice = token * per_token; choice < (token + 1) * per_token; ++choice) {
        counts[routing.chosen()[static_cast<std::size_t>(choice)]] += 1;
      }
      const float* p = routing.probabilities().data() + token * experts_;
      for (std::int64_t e = 0; e < experts_; ++e) sums[e] += static_cast<double>(p[e]);
    }
  }
}

double LoadBalance::scale(std::size_t sequence) const {
  const auto rows = static_cast<double>((starts_[sequence + 1] - starts_[sequence]) * layers_);
  return static_cast<double>(experts_) / (rows * rows);
}

std::span<const float> LoadBalance::losses() {
  losses_.assign(sequences(), 0.0F);
  const auto experts = static_cast<std::size_t>(experts_);
  for (std::size_t s = 0; s < sequences(); ++s) {
    double sum = 0;
    for (std::size_t i = s * experts; i < (s + 1) * experts; ++i) {
      sum += counts_[i] * probabilities_[i];
    }
    losses_[s] = static_cast<float>(scale(s) * sum);
  }
  return losses_;
}

BalanceGradient LoadBalance::gradient(std::span<const float> d_losses) {
  base::expects(d_losses.size() == sequences(), "one gradient for each sequence");
  d_probabilities_.resize(counts_.size());
  const auto experts = static_cast<std::size_t>(experts_);
  for (std::size_t s = 0; s < sequences(); ++s) {
    const double factor = static_cast<double>(d_losses[s]) * scale(s);
    for (std::size_t i = s * experts; i < (s + 1) * experts; ++i) {
      d_probabilities_[i] = static_cast<float>(factor * counts_[i]);
    }
  }
  return {starts_, d_probabilities_.data()};
}

}  // namespace physarum::model
