#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/sample/sampling_options.hpp"

#include "likeliest_tokens.hpp"
#include "seen_tokens.hpp"
#include "top_tokens.hpp"

namespace physarum::rollout {

struct DrawnToken {
  base::TokenId token = -1;  ///< -1: the logits are not finite, nothing can be drawn
  float log_prob = 0;
  /// The ids that it was drawn from, rising, if they are recorded and not all; until the next draw.
  std::span<const base::TokenId> nucleus;
  bool narrowed = false;  ///< they would be more without SamplingOptions::nucleus_limit
  /// SamplingOptions::top_log_probs of them, with log-probs; until the next draw.
  std::span<const base::TokenId> top_ids;
  std::span<const float> top_log_probs;
};

/// What is changed in logits for one draw. The log-probability sees it only in what the nucleus is.
struct Shaping {
  std::span<const base::TokenId> forbidden;  ///< cannot be drawn
  const SeenTokens* seen = nullptr;          ///< null: the options have no penalties

  [[nodiscard]] bool changes_nothing() const {
    return forbidden.empty() && (seen == nullptr || seen->entries().empty());
  }
};

/// Draws tokens from logits by inverting the cumulative distribution at one uniform number. The
/// order of the tokens is that of the vocabulary; with top-k, top-p or min-p it is from the
/// likeliest down (equals by id).
class Sampler {
 public:
  explicit Sampler(std::int64_t vocab_size);

  /// `uniform` in [0, 1). What `shaping` says comes first: penalties, then what is forbidden. With
  /// temperature 0 the likeliest token, the first of equals. top-k keeps that many likeliest
  /// tokens; then top-p keeps the fewest likeliest of them that have at least that share of their
  /// mass; then min-p those that have at least that share of the likeliest's probability; of them
  /// the nucleus_limit likeliest if nuclei are recorded. log_prob: see Generated::log_probs.
  [[nodiscard]] DrawnToken draw(const float* logits, const sample::SamplingOptions& options,
                                double uniform, const Shaping& shaping = {});

 private:
  /// A copy; it holds until the next call.
  [[nodiscard]] const float* shaped(const float* logits, const sample::SamplingOptions& options,
                                    const Shaping& shaping);
  [[nodiscard]] base::TokenId likeliest(const float* logits, float top) const;
  [[nodiscard]] base::TokenId draw_from_all(double target) const;
  /// Of the logits of a nucleus; overwrites the exponentials.
  [[nodiscard]] model::ExpSum sums_of(std::span<const base::TokenId> nucleus, const float* logits,
                                      float scale);
  std::int64_t vocab_size_;
  std::vector<float> shaped_;  ///< empty until it is needed
  std::vector<float> exponentials_;
  std::vector<float> chunk_sums_;
  LikeliestTokens likeliest_;
  std::vector<float> gathered_;  ///< logits of the nucleus
  TopTokens top_;
};

}  // namespace physarum::rollout
