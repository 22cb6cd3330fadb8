#pragma once

#include <cstdint>
#include <span>

#include "physarum/base/thread_team.hpp"

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/expert_routing.hpp"

#include "engine_weights.hpp"

namespace physarum::rollout {

/// Feed-forward parts with experts, one after another. The rows of an expert are gathered and make
/// one matrix product, in pieces of bounded size; a row's sum goes over its experts by rising
/// number and depends on the row alone. Takes no memory once it has seen as many rows.
class ExpertDecoder {
 public:
  /// For models without experts too; then it holds nothing.
  explicit ExpertDecoder(const model::ModelConfig& config);

  /// Adds the outputs for `normed` [count, hidden] to `residual` [count, hidden].
  void add(base::ThreadTeam& team, const LayerWeights& layer, std::int64_t count,
           const float* normed, float* residual);

 private:
  void add_some(base::ThreadTeam& team, const ExpertWeights& expert,
                std::span<const std::int64_t> choices, const float* normed, float* residual);
  std::int64_t hidden_;
  std::int64_t inner_width_;
  model::ExpertRouting routing_;
  model::AlignedBuffer logits_;   ///< [rows, experts]
  model::AlignedBuffer inputs_;   ///< [expert_rows, hidden]
  model::AlignedBuffer gate_up_;  ///< [expert_rows, 2 expert intermediate]
  model::AlignedBuffer inner_;    ///< [expert_rows, expert intermediate]
  model::AlignedBuffer outputs_;  ///< [expert_rows, hidden]
};

}  // namespace physarum::rollout
