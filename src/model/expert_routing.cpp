#include "physarum/model/expert_routing.hpp"

#include <algorithm>
#include <cmath>

#include "physarum/base/contracts.hpp"

namespace physarum::model {

namespace {
void softmax(const float* logits, std::int64_t count, float* probabilities) {
  const float top = *std::max_element(logits, logits + count);
  float sum = 0.0F;
  for (std::int64_t e = 0; e < count; ++e) {
    probabilities[e] = std::exp(logits[e] - top);
    sum += probabilities[e];
  }
  for (std::int64_t e = 0; e < count; ++e) probabilities[e] /= sum;
}
}  // namespace

ExpertRouting::ExpertRouting(const ExpertConfig& experts)
    : experts_(experts.count), per_token_(experts.per_token), normalise_(experts.normalise) {
  base::expects(per_token_ >= 1 && per_token_ <= experts_, "a row goes to some of the experts");
  taken_.resize(static_cast<std::size_t>(experts_));
}

void ExpertRouting::route(const float* logits, std::int64_t rows) {
  rows_ = rows;
  probabilities_.resize(static_cast<std::size_t>(rows * experts_));
  chosen_.resize(static_cast<std::size_t>(choices()));
  weights_.resize(static_cast<std::size_t>(choices()));
  for (std::int64_t row = 0; row < rows; ++row) {
    softmax(logits + row * experts_, experts_, probabilities_.data() + row * experts_);
    choose(row);
  }
  sort_by_expert();
}

void ExpertRouting::choose(std::int64_t row) {
  const float* probabilities = probabilities_.data() + row * experts_;
  std::int32_t* chosen = chosen_.data() + row * per_token_;
  float* weights = weights_.data() + row * per_token_;
  std::fill(taken_.begin(), taken_.end(), false);
  float sum = 0.0F;
  for (std::int64_t choice = 0; choice < per_token_; ++choice) {
    // Something is chosen even if nothing is a number, so that this shows in the result.
    std::int64_t best = -1;
    for (std::int64_t e = 0; e < experts_; ++e) {
      if (taken_[static_cast<std::size_t>(e)]) continue;
      if (best < 0 || probabilities[e] > probabilities[best]) best = e;
    }
    taken_[static_cast<std::size_t>(best)] = true;
    chosen[choice] = static_cast<std::int32_t>(best);
    weights[choice] = probabilities[best];
    sum += probabilities[best];
  }
  if (!normalise_) return;
  for (std::int64_t choice = 0; choice < per_token_; ++choice) weights[choice] /= sum;
}

void ExpertRouting::sort_by_expert() {
  starts_.assign(static_cast<std::size_t>(experts_ + 1), 0);
  choices_.resize(chosen_.size());
  for (const auto expert : chosen_) ++starts_[static_cast<std::size_t>(expert) + 1];
  for (std::size_t e = 1; e < starts_.size(); ++e) starts_[e] += starts_[e - 1];
  // Each start moves to its list's end, which is the next one's start: move them all back after.
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    auto& next = starts_[static_cast<std::size_t>(chosen_[i])];
    choices_[static_cast<std::size_t>(next++)] = static_cast<std::int64_t>(i);
  }
  std::move_backward(starts_.begin(), starts_.end() - 1, starts_.end());
  starts_.front() = 0;
}

std::span<const std::int64_t> ExpertRouting::choices_of(std::int64_t expert) const {
  const auto first = static_cast<std::size_t>(start_of(expert));
  const auto last = static_cast<std::size_t>(start_of(expert + 1));
  return std::span(choices_).subspan(first, last - first);
}

/// With weights w = p / s of the chosen, s their sum: dp = (dw - sum(dw w)) / s, else dp = dw; then
/// through the softmax over all: d_logit = p (dp - sum(dp p)).
void ExpertRouting::backward(std::span<const float> d_weights, float* d) const {
  base::expects(static_cast<std::int64_t>(d_weights.size()) == choices(),
                "one gradient for each choice");
  for (std::int64_t row = 0; row < rows_; ++row, d += experts_) {
    const float* p = probabilities_.data() + row * experts_;
    float sum = normalise_ ? 0.0F : 1.0F;
    float pull = 0.0F;
    for (std::int64_t i = row * per_token_; normalise_ && i < (row + 1) * per_token_; ++i) {
      const auto at = static_cast<std::size_t>(i);
      sum += p[chosen_[at]];
      pull += d_weights[at] * weights_[at];
    }
    for (std::int64_t i = row * per_token_; i < (row + 1) * per_token_; ++i) {
      const auto at = static_cast<std::size_t>(i);
      d[chosen_[at]] += (d_weights[at] - pull) / sum;
    }
    float mean = 0.0F;
    for (std::int64_t e = 0; e < experts_; ++e) mean += d[e] * p[e];
    for (std::int64_t e = 0; e < experts_; ++e) d[e] = p[e] * (d[e] - mean);
  }
}

}  // namespace physarum::model
