#pragma once

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/gemm.hpp"

namespace physarum::model {

/// Memory for layers with experts, which use it one after another.
struct ExpertScratch {
  AlignedBuffer normed;     ///< [rows, hidden]: input of all experts
  AlignedBuffer d_normed;   ///< [rows, hidden]
  AlignedBuffer logits;     ///< [rows, experts] of the router; on the way back their gradients
  AlignedBuffer d_weights;  ///< [choices]
  AlignedBuffer inputs;     ///< [chunk, hidden]: rows of one expert
  AlignedBuffer outputs;    ///< [chunk, hidden]
  AlignedBuffer inner;      ///< [chunk, expert intermediate]
  AlignedBuffer d_inner;    ///< [chunk, expert intermediate]
  // Weights of one expert at a time.
  PackedMatrix gate_up;       ///< [2 expert intermediate, hidden]
  PackedMatrix down;          ///< [hidden, expert intermediate]
  PackedMatrix back_gate_up;  ///< [hidden, 2 expert intermediate]
  PackedMatrix back_down;     ///< [expert intermediate, hidden]
};

}  // namespace physarum::model
