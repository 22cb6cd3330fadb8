#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"
#include "physarum/base/token_sets.hpp"

#include "matrix_view.hpp"

namespace physarum::model {

/// What is scored in each row of logits, and over which tokens.
struct ScoreTargets {
  std::vector<base::TokenId> tokens;  ///< [rows]
  base::TokenSets nuclei;             ///< at most [rows]; each has the row's token or is empty

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(tokens.size()); }
};

/// The kernels' scores of tokens, where a row may count only some tokens of the vocabulary: their
/// logits are copied side by side, in the order of their ids, and scored like a vocabulary of their
/// own. The sampler of an engine does the same (rollout::Sampler), to the same bits.
class NucleusScores {
 public:
  /// Arrays of [rows], from the first of these rows on.
  struct Scores {
    float* log_probs;
    float* log_sums;   ///< for the way back
    float* entropies;  ///< may be null
  };
  /// Logits of targets first, first + 1 ...
  void forward(const ScoreTargets& targets, std::int64_t first, Matrix logits,
               float inverse_temperature, const Scores& scores);

  struct Gradients {
    const float* log_probs;
    const float* log_sums;   ///< of forward()
    const float* entropies;  ///< may be null
  };
  /// In place: logits become their gradients, exactly zero outside the nuclei.
  void backward(const ScoreTargets& targets, std::int64_t first, float inverse_temperature,
                const Gradients& gradients, Matrix logits);

 private:
  /// The logits of a row's nucleus, behind one another.
  float* gather(const float* row, std::span<const base::TokenId> nucleus);

  std::vector<float> gathered_;
};

}  // namespace physarum::model
