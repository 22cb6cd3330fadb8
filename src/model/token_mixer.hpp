#pragma once

#include <cstdint>
#include <span>

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/parameter_layout.hpp"
#include "physarum/model/rope_table.hpp"

#include "head_norm.hpp"
#include "kernels.hpp"
#include "projection.hpp"
#include "shared_memory.hpp"

namespace physarum::model {

/// How tokens lie in sequences.
struct Sequences {
  std::span<const std::int64_t> starts;  ///< [S + 1]
  const RopeTable* rope;
  [[nodiscard]] std::int64_t tokens() const { return starts.back(); }
};

/// The part of a block in which tokens see each other: norm, query-key-value projection, norms of
/// the heads where the model has them, attention.
class TokenMixer {
 public:
  /// What the way back needs, besides the input.
  struct Memory {
    AlignedBuffer inverse_rms;  ///< [T]
    AlignedBuffer qkv;          ///< [T, attention_width], before the norms of the heads
    AlignedBuffer head_rms;     ///< [T, normed heads]
    AlignedBuffer log_sums;     ///< [T * heads], by sequence, then head
    AlignedBuffer attended;     ///< [T, query_width]
  };
  /// `window` as in AttentionShape.
  TokenMixer(const ModelConfig& config, const LayerOffsets& at, std::int64_t window);

  /// x [T, hidden] to memory.attended.
  void forward(const float* flat, const Sequences& sequences, const float* x, Memory& memory,
               SharedMemory& shared);
  /// d_attended [T, query_width] to dx [T, hidden], which it adds to.
  void backward(const float* flat, float* flat_gradients, const Sequences& sequences,
                const float* x, const Memory& memory, const float* d_attended, SharedMemory& shared,
                float* dx);

 private:
  /// Neighbouring sequences that are worked on together.
  struct Group {
    std::size_t first;  ///< sequences [first, last)
    std::size_t last;
    std::int64_t begin;  ///< tokens [begin, begin + tokens)
    std::int64_t tokens;
  };
  [[nodiscard]] static Group group_from(const Sequences& sequences, std::size_t first);
  [[nodiscard]] AttentionShape shape_of(const Sequences& sequences, std::size_t sequence) const;
  void project(const float* flat, const Group& group, const float* x, Memory& memory,
               SharedMemory& shared) const;
  /// What attention takes of a group's first token: the projections, or their norms.
  [[nodiscard]] const float* norm_heads(const float* flat, const Group& group, Memory& memory,
                                        SharedMemory& shared) const;
  [[nodiscard]] const float* norm_heads_again(const float* flat, const Group& group,
                                              const Memory& memory, SharedMemory& shared) const;
  void attend(const Sequences& sequences, std::size_t sequence, const float* qkv, Memory& memory,
              SharedMemory& shared) const;
  void attend_backward(const Sequences& sequences, std::size_t sequence, const float* qkv,
                       const Memory& memory, const float* d_attended, SharedMemory& shared,
                       float* d_qkv) const;
  void project_backward(const float* flat, float* flat_gradients, const Group& group,
                        const float* x, const Memory& memory, SharedMemory& shared,
                        float* dx) const;
  const ModelConfig* config_;
  std::int64_t norm_;
  std::int64_t window_;
  Projection qkv_;
  HeadNorm head_norm_;
};

}  // namespace physarum::model
