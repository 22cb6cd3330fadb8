#pragma once

#include <cstdint>

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/parameter_layout.hpp"

#include "projection.hpp"
#include "shared_memory.hpp"

namespace physarum::model {

/// The part of a block in which every row stands alone: output projection, norm, SwiGLU, with the
/// two residual sums. It works on any subset of the tokens.
class RowTransform {
 public:
  /// What the way back needs, besides the attention's output.
  struct Memory {
    AlignedBuffer middle;       ///< [rows, hidden]: the residual stream between the two sums
    AlignedBuffer inverse_rms;  ///< [rows]
    AlignedBuffer gate_up;      ///< [rows, 2 * intermediate]; the way back overwrites it
  };
  RowTransform(const ModelConfig& config, const LayerOffsets& at);

  /// memory.middle holds the block's input on entry. y [rows, hidden] may be the block's input.
  void forward(const float* flat, std::int64_t rows, const float* attended, Memory& memory,
               SharedMemory& shared, float* y);
  /// d [rows, hidden]: gradient of y on entry, of the block's input (without the attention's share)
  /// on return. d_attended [rows, query_width] is overwritten.
  void backward(const float* flat, float* flat_gradients, std::int64_t rows, const float* attended,
                Memory& memory, SharedMemory& shared, float* d, float* d_attended);

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
  const ModelConfig* config_;
  std::int64_t norm_;
  Projection output_;
  Projection gate_up_;
  Projection down_;
};

}  // namespace physarum::model
