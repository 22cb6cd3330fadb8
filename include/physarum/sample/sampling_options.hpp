#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "physarum/sample/ids.hpp"
#include "physarum/sample/top_log_probs.hpp"

namespace physarum::sample {

inline constexpr std::size_t most_stop_strings = 16;
inline constexpr std::size_t most_stop_string_bytes = 1000;

/// How the answers to one prompt are drawn. A value that travels in every lease.
struct SamplingOptions {
  double temperature = 1.0;  ///< 0: the likeliest token (evaluation only)
  std::int64_t top_k = -1;   ///< -1: off
  double top_p = 1.0;        ///< in (0, 1]; 1: off
  double min_p = 0.0;        ///< in [0, 1]; share of the likeliest's; 0: off
  /// Most ids that are recorded of what top-k, top-p and min-p leave for a token; no more are left.
  /// 0: nothing is recorded.
  std::int64_t nucleus_limit = 0;
  /// So many likeliest tokens are recorded for each token of an answer, with their log-probs; at
  /// most most_top_log_probs.
  std::int64_t top_log_probs = 0;
  // Shape what is drawn, not what is recorded as log-probability.
  double repetition_penalty = 1.0;       ///< > 0; divides positive logits of tokens seen; 1: off
  double presence_penalty = 0.0;         ///< subtracted from logits of tokens of the answer; 0: off
  double frequency_penalty = 0.0;        ///< the same, times how often they are there; 0: off
  std::int64_t min_response_tokens = 0;  ///< so many come before a stop token can
  std::int64_t max_response_tokens = 0;  ///< new tokens of one answer
  std::int64_t max_context_tokens = 0;   ///< prompt and response together
  std::vector<TokenId> stop_token_ids;   ///< an answer ends after (and with) one of them
  /// An answer ends after (and with) the token in which one of them ends. At most
  /// most_stop_strings, none empty.
  std::vector<std::string> stop_strings;

  /// Some tokens may be cut off from the distribution.
  [[nodiscard]] bool cuts() const { return top_k >= 1 || top_p < 1 || min_p > 0; }
  /// For each token the ids that it was drawn from; log-probs are those of the softmax over them.
  [[nodiscard]] bool records_nuclei() const {
    return nucleus_limit > 0 && temperature > 0 && cuts();
  }

  friend bool operator==(const SamplingOptions&, const SamplingOptions&) = default;
};

}  // namespace physarum::sample
