#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/parameter_layout.hpp"
#include "physarum/model/transformer.hpp"

#include "nucleus_scores.hpp"
#include "projection.hpp"

namespace physarum::model {

/// Final norm, vocabulary projection and log-probabilities of given tokens. Rows are taken in
/// chunks, so that the logits of a big vocabulary never exist all at once; if they are few they are
/// kept for the way back, else computed again.
class ScoreHead {
 public:
  ScoreHead(const ModelConfig& config, const ModelOffsets& at);

  /// x [rows, hidden]; targets [rows].
  TokenScores forward(const float* flat, const float* x, const ScoreTargets& targets,
                      double temperature, Entropy entropy);
  /// x, targets and temperature as in the last forward(). dx [rows, hidden] is overwritten.
  void backward(const float* flat, float* flat_gradients, const float* x,
                const ScoreTargets& targets, std::span<const float> d_log_probs,
                std::span<const float> d_entropies, float* dx);
  /// logits [rows, vocab].
  void logits(const float* flat, const float* x, std::int64_t rows, float* logits);

 private:
  void norm(const float* flat, const float* x, std::int64_t rows);
  /// Where logits of rows from `first` on lie: in their place if all are kept, else at the start.
  [[nodiscard]] Matrix logits_at(std::int64_t first, std::int64_t rows);
  void project(std::int64_t first, Matrix logits) const;
  void plan(std::int64_t rows);

  const ModelConfig* config_;
  std::int64_t norm_;
  Projection head_;
  float inverse_temperature_ = 1.0F;
  bool kept_ = false;
  std::int64_t chunk_ = 0;     ///< rows at a time
  AlignedBuffer inverse_rms_;  ///< [rows]
  AlignedBuffer normed_;       ///< [rows, hidden]
  AlignedBuffer d_normed_;     ///< [chunk, hidden]
  AlignedBuffer logits_;       ///< [rows or chunk, vocab]
  AlignedBuffer log_sums_;     ///< [rows]
  AlignedBuffer log_probs_;    ///< [rows]
  AlignedBuffer entropies_;    ///< [rows]
  NucleusScores scores_;
  GemmWorkspace workspace_;
};

}  // namespace physarum::model
