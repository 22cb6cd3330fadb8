#pragma once

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/gemm.hpp"

#include "expert_scratch.hpp"

namespace physarum::model {

/// Memory that layers use one after another; each holds one chunk of rows.
struct SharedMemory {
  AlignedBuffer normed;      ///< [chunk, hidden]: input of a projection
  AlignedBuffer d_normed;    ///< [chunk, hidden]
  AlignedBuffer inner;       ///< [chunk, intermediate]
  AlignedBuffer d_qkv;       ///< [chunk, attention_width]
  AlignedBuffer normed_qkv;  ///< [chunk, attention_width], of models with norms of heads
  AlignedBuffer scratch;     ///< of the attention kernel
  ExpertScratch experts;
  GemmWorkspace workspace;
};

}  // namespace physarum::model
