#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/packed_batch.hpp"
#include "physarum/model/parameter_layout.hpp"
#include "physarum/model/rope_table.hpp"
#include "physarum/model/transformer.hpp"

#include "load_balance.hpp"
#include "row_transform.hpp"
#include "token_mixer.hpp"

namespace physarum::model {

/// Embedding and blocks, from tokens to the last block's output for the rows that are asked for.
/// The last block's rows behind its attention are only those: nobody looks at the others.
class LayerStack {
 public:
  LayerStack(const ModelConfig& config, const ModelOffsets& at);

  /// `rows`: rising indices of tokens; at least one; all of them for load balancing. The batch has
  /// been checked.
  void forward(const float* flat, const PackedBatch& batch, std::span<const std::int64_t> rows,
               Keep keep, LoadBalancing balancing);
  /// [S] of the last forward() with load balancing.
  [[nodiscard]] std::span<const float> balance_losses() { return balance_.losses(); }
  /// [rows, hidden] of the last forward().
  [[nodiscard]] const float* output() const { return output_.data(); }
  /// [rows, hidden]: to be filled before backward().
  [[nodiscard]] float* d_output() { return d_output_.data(); }
  /// Adds to all gradients; uses up what the last forward() kept. `d_balance_losses`: [S] or empty.
  void backward(const float* flat, float* flat_gradients, std::span<const float> d_balance_losses);

 private:
  struct Layer {
    Layer(const ModelConfig& config, const LayerOffsets& at, std::int64_t window);
    TokenMixer mixer;
    RowTransform rows;
  };
  struct LayerMemory {
    AlignedBuffer input;  ///< [T, hidden]
    TokenMixer::Memory mixer;
    RowTransform::Memory rows;
  };
  /// Without keeping, all layers share one memory and the residual stream stays in place.
  [[nodiscard]] LayerMemory& memory_of(std::size_t layer);
  [[nodiscard]] Sequences sequences() const { return {starts_, &rope_}; }
  void embed(const float* flat);
  void run_layer(const float* flat, std::size_t layer);
  void run_last_layer(const float* flat);
  void run_last_layer_backward(const float* flat, float* flat_gradients);
  void note_choices(std::size_t layer);
  void embed_backward(float* flat_gradients) const;

  const ModelConfig* config_;
  std::int64_t embedding_;
  RopeTable rope_;
  std::vector<Layer> layers_;
  std::vector<LayerMemory> memory_;
  SharedMemory shared_;
  LoadBalance balance_;
  BalanceGradient balance_gradient_;

  std::vector<base::TokenId> tokens_;
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> rows_;
  Keep keep_ = Keep::nothing;
  LoadBalancing balancing_ = LoadBalancing::skip;
  AlignedBuffer d_stream_;             ///< [T, hidden]
  AlignedBuffer d_attended_;           ///< [T, query_width]
  AlignedBuffer selected_attended_;    ///< [rows, query_width]
  AlignedBuffer d_selected_attended_;  ///< [rows, query_width]
  AlignedBuffer output_;               ///< [rows, hidden]
  AlignedBuffer d_output_;             ///< [rows, hidden]
};

}  // namespace physarum::model
