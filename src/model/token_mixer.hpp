#pragma once

#include <cstdint>
#include <span>

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/parameter_layout.hpp"
#include "physarum/model/rope_table.hpp"

#include "kernels.hpp"
#include "projection.hpp"

namespace physarum::model {

/// Memory that layers use one after another.
struct SharedMemory {
  AlignedBuffer normed;      ///< [T, hidden]: input of a projection, and its gradient's companion
  AlignedBuffer d_normed;    ///< [T, hidden]
  AlignedBuffer inner;       ///< [T, intermediate]
  AlignedBuffer d_qkv;       ///< [T, attention_width]
  AlignedBuffer d_attended;  ///< [T, query_width]
  AlignedBuffer scratch;     ///< of the attention kernel
};

/// How tokens lie in sequences.
struct Sequences {
  std::span<const std::int64_t> starts;  ///< [S + 1]
  const RopeTable* rope;
  [[nodiscard]] std::int64_t tokens() const { return starts.back(); }
};

/// The part of a block in which tokens see each other: norm, query-key-value projection, attention.
class TokenMixer {
 public:
  /// What the way back needs, besides the input.
  struct Memory {
    AlignedBuffer inverse_rms;  ///< [T]
    AlignedBuffer qkv;          ///< [T, attention_width]
    AlignedBuffer log_sums;     ///< [T * heads], by sequence, then head
    AlignedBuffer attended;     ///< [T, query_width]
  };
  TokenMixer(const ModelConfig& config, const LayerOffsets& at);

  /// x [T, hidden] to memory.attended.
  void forward(const float* flat, const Sequences& sequences, const float* x, Memory& memory,
               SharedMemory& shared) const;
  /// shared.d_attended to dx [T, hidden], which it adds to.
  void backward(const float* flat, float* flat_gradients, const Sequences& sequences,
                const float* x, const Memory& memory, SharedMemory& shared, float* dx) const;

 private:
  [[nodiscard]] AttentionShape shape_of(const Sequences& sequences, std::size_t sequence) const;
  void attend(const Sequences& sequences, Memory& memory, SharedMemory& shared) const;
  void attend_backward(const Sequences& sequences, const Memory& memory,
                       SharedMemory& shared) const;
  const ModelConfig* config_;
  std::int64_t norm_;
  Projection qkv_;
};

}  // namespace physarum::model
