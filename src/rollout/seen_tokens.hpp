#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/sample/sampling_options.hpp"

namespace physarum::rollout {

/// Which tokens a prompt has and how often an answer has had which: what penalties depend on.
/// Counts as the answer grows; a hash table with open addressing over a list of what it holds, so
/// that a draw visits these tokens alone.
class SeenTokens {
 public:
  struct Entry {
    base::TokenId token;
    std::int32_t count;  ///< in the answer; 0: only in the prompt
  };

  explicit SeenTokens(std::span<const base::TokenId> prompt);

  /// The answer has one token more. Takes memory only when the tables double.
  void push(base::TokenId token);
  /// In the order in which they were first seen.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }

 private:
  Entry& entry_of(base::TokenId token);
  [[nodiscard]] std::size_t slot_of(base::TokenId token) const;
  void rebuild(std::size_t slots);

  std::vector<Entry> entries_;
  std::vector<std::int32_t> slots_;  ///< a power of two; index of an entry, or free
};

/// Whether draws need to know what has been seen.
[[nodiscard]] bool has_penalties(const sample::SamplingOptions& options);

/// Penalises what has been seen, in the order of vLLM: the repetition penalty (Keskar et al. 2019,
/// arXiv:1909.05858) divides positive logits and multiplies others, for tokens of prompt and
/// answer; then count * frequency penalty and the presence penalty are subtracted, for tokens of
/// the answer.
void penalise(const SeenTokens& seen, const sample::SamplingOptions& options, float* logits);

}  // namespace physarum::rollout
