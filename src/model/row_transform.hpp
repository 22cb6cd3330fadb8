#pragma once

#include <cstdint>
#include <optional>

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/parameter_layout.hpp"

#include "expert_feed_forward.hpp"
#include "load_balance.hpp"
#include "projection.hpp"
#include "shared_memory.hpp"

namespace physarum::model {

/// The part of a block in which every row stands alone: output projection, norm, SwiGLU or experts,
/// with the two residual sums. It works on any subset of the tokens.
class RowTransform {
 public:
  /// What the way back needs, besides the attention's output.
  struct Memory {
    AlignedBuffer middle;       ///< [rows, hidden]: the residual stream between the two sums
    AlignedBuffer inverse_rms;  ///< [rows]
    AlignedBuffer gate_up;      ///< [rows, 2 * intermediate]; the way back overwrites it
    ExpertFeedForward::Memory experts;  ///< instead of gate_up
  };
  RowTransform(const ModelConfig& config, const LayerOffsets& at);

  /// memory.middle holds the block's input on entry. y [rows, hidden] may be the block's input.
  void forward(const float* flat, std::int64_t rows, const float* attended, Memory& memory,
               SharedMemory& shared, float* y);
  /// d [rows, hidden]: gradient of y on entry, of the block's input (without the attention's share)
  /// on return. d_attended [rows, query_width] is overwritten. With a balance gradient the rows are
  /// all tokens.
  void backward(const float* flat, float* flat_gradients, std::int64_t rows, const float* attended,
                Memory& memory, const BalanceGradient& balance, SharedMemory& shared, float* d,
                float* d_attended);
  [[nodiscard]] bool has_experts() const { return experts_.has_value(); }

 private:
  /// Rows [first, first + count).
  struct Chunk {
    std::int64_t first;
    std::int64_t count;
  };
  void forward_chunk(const float* flat, const Chunk& chunk, const float* attended, Memory& memory,
                     SharedMemory& shared, float* y) const;
  void backward_chunk(const float* flat, float* flat_gradients, const Chunk& chunk,
                      const float* attended, Memory& memory, SharedMemory& shared, float* d,
                      float* d_attended) const;
  void forward_experts(const float* flat, std::int64_t rows, const float* attended, Memory& memory,
                       SharedMemory& shared, float* y);
  void backward_experts(const float* flat, float* flat_gradients, std::int64_t rows,
                        const float* attended, Memory& memory, const BalanceGradient& balance,
                        SharedMemory& shared, float* d, float* d_attended);
  /// What both kinds of feed-forward part begin with, on one chunk: attention's output into the
  /// residual stream, and its norm.
  void add_attention(const float* flat, const Chunk& chunk, const float* attended, Memory& memory,
                     float* normed) const;
  void attention_backward(const float* flat, float* flat_gradients, const Chunk& chunk,
                          const float* attended, const Memory& memory, const float* d_normed,
                          SharedMemory& shared, float* d, float* d_attended) const;
  const ModelConfig* config_;
  std::int64_t norm_;
  Projection output_;
  Projection gate_up_;
  Projection down_;
  std::optional<ExpertFeedForward> experts_;  ///< instead of gate_up_ and down_
};

}  // namespace physarum::model
