#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/expert_routing.hpp"
#include "physarum/model/parameter_layout.hpp"

#include "load_balance.hpp"
#include "projection.hpp"
#include "shared_memory.hpp"

namespace physarum::model {

/// A feed-forward part with experts: router, and SwiGLU of each expert on the rows that chose it.
/// The rows of an expert are gathered and make one matrix product; a row's sum goes over its
/// experts by rising number. What becomes of a row depends on nothing else.
class ExpertFeedForward {
 public:
  /// What the way back needs, besides the input.
  struct Memory {
    ExpertRouting routing;
    AlignedBuffer gate_up;  ///< [choices, 2 * expert intermediate], by expert; used up on the way
  };
  ExpertFeedForward(const ModelConfig& config, const LayerOffsets& at);

  /// Adds to y [rows, hidden].
  void forward(const float* flat, std::int64_t rows, const float* x, Memory& memory,
               SharedMemory& shared, float* y);
  /// dx [rows, hidden] is overwritten. With a balance gradient the rows are all tokens.
  void backward(const float* flat, float* flat_gradients, std::int64_t rows, const float* x,
                Memory& memory, const BalanceGradient& balance, const float* dy,
                SharedMemory& shared, float* dx);

 private:
  /// Some of the choices that fell on an expert.
  struct Chunk {
    std::int64_t expert;
    std::int64_t first;  ///< place in the list of all choices by expert
    std::span<const std::int64_t> choices;
    [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(choices.size()); }
  };
  template <class Body>
  void for_each_chunk(const Memory& memory, std::int64_t expert, Body body) const;
  void route(const float* flat, std::int64_t rows, const float* x, Memory& memory,
             SharedMemory& shared);
  void pack_for_forward(const float* flat, std::int64_t expert, ExpertScratch& scratch) const;
  void pack_for_backward(const float* flat, std::int64_t expert, ExpertScratch& scratch) const;
  void forward_chunk(const Chunk& chunk, const float* x, Memory& memory, ExpertScratch& scratch,
                     float* y) const;
  void backward_chunk(float* flat_gradients, const Chunk& chunk, const float* x, Memory& memory,
                      const float* dy, SharedMemory& shared, float* dx) const;
  void router_backward(const float* flat, float* flat_gradients, const float* x,
                       const Memory& memory, const BalanceGradient& balance, SharedMemory& shared,
                       float* dx);
  ExpertConfig experts_;
  std::int64_t hidden_;
  std::vector<ExpertOffsets> at_;
  Projection router_;
};

}  // namespace physarum::model
