#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/model/decode_kernels.hpp"

namespace physarum::rollout {

/// A distribution that a token was drawn from, as its log-probs see it.
struct Distribution {
  const float* logits;  ///< [vocab_size]
  std::int64_t vocab_size;
  std::span<const base::TokenId> nucleus;  ///< none: all tokens
  float scale;                             ///< of the logits
  model::ExpSum sums;                      ///< over the nucleus, or all tokens
};

/// The likeliest tokens of distributions; see sample::TopLogProbs.
class TopTokens {
 public:
  /// The `count` likeliest, at least one; they hold until the next call.
  void find(const Distribution& of, std::int64_t count);
  [[nodiscard]] std::span<const base::TokenId> ids() const { return ids_; }
  [[nodiscard]] std::span<const float> log_probs() const { return log_probs_; }

 private:
  std::vector<base::TokenId> ids_;
  std::vector<float> log_probs_;
};

}  // namespace physarum::rollout
