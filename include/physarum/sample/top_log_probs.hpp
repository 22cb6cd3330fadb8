#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "physarum/sample/ids.hpp"

namespace physarum::sample {

/// Most alternatives that can be asked for per token.
inline constexpr std::int64_t most_top_log_probs = 1024;

/// Stands where a token has fewer alternatives than were asked for.
inline constexpr TokenId no_alternative = -1;
inline constexpr float no_log_prob = -std::numeric_limits<float>::infinity();

/// For each token of a response the K likeliest tokens, the likeliest first (equals by id), with
/// their log-probs under the distribution of which the token's own log-prob is. A token that was
/// drawn from fewer than K ends its row with no_alternative and no_log_prob.
struct TopLogProbs {
  std::vector<TokenId> ids;  ///< [tokens, K]
  std::vector<float> log_probs;

  [[nodiscard]] bool empty() const { return ids.empty() && log_probs.empty(); }
  /// K; 0 if there are none. `tokens`: of the response.
  [[nodiscard]] std::int64_t per_token(std::int64_t tokens) const {
    return tokens > 0 ? static_cast<std::int64_t>(ids.size()) / tokens : 0;
  }
  void push(std::span<const TokenId> row_ids, std::span<const float> row_log_probs) {
    ids.insert(ids.end(), row_ids.begin(), row_ids.end());
    log_probs.insert(log_probs.end(), row_log_probs.begin(), row_log_probs.end());
  }
  friend bool operator==(const TopLogProbs&, const TopLogProbs&) = default;
};

/// What is wrong with those of a response of so many tokens; null: nothing. None at all is right.
[[nodiscard]] const char* find_fault(const TopLogProbs& top, std::int64_t tokens);

}  // namespace physarum::sample
