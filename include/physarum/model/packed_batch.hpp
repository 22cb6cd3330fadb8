#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"
#include "physarum/base/token_sets.hpp"

#include "physarum/model/config.hpp"

namespace physarum::model {

/// Sequences of different lengths behind one another, without padding.
struct PackedBatch {
  std::vector<base::TokenId> tokens;  ///< [T]
  /// [S + 1]: sequence s is tokens [starts[s], starts[s + 1]); starts[0] = 0, starts[S] = T.
  /// Positions count from 0 in each sequence.
  std::vector<std::int64_t> sequence_starts{0};
  /// [N], rising: indices into `tokens` of the tokens whose log-probability is wanted, given the
  /// tokens before it in its sequence. Never the first of a sequence.
  std::vector<std::int64_t> targets;
  /// At most N. Target i has set i: all scores of it are those of the softmax over these tokens,
  /// and no gradient goes to the logits of others.
  base::TokenSets nuclei;

  [[nodiscard]] std::int64_t n_tokens() const { return static_cast<std::int64_t>(tokens.size()); }
  [[nodiscard]] std::int64_t n_sequences() const {
    return static_cast<std::int64_t>(sequence_starts.size()) - 1;
  }
  [[nodiscard]] std::int64_t n_targets() const { return static_cast<std::int64_t>(targets.size()); }

  /// Appends a sequence whose tokens from `first_target` (>= 1, relative) on are targets.
  void append(std::span<const base::TokenId> sequence, std::int64_t first_target);
  /// Contract check: shape of the batch, token ids in the vocabulary, targets in their nuclei,
  /// lengths within max_position_embeddings.
  void check(const ModelConfig& config) const;
};

}  // namespace physarum::model
