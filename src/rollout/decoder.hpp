#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"
#include "physarum/base/thread_team.hpp"

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/config.hpp"
#include "physarum/model/decode_kernels.hpp"
#include "physarum/model/rope_table.hpp"

#include "engine_weights.hpp"
#include "expert_decoder.hpp"

namespace physarum::rollout {

/// One token to compute. Its sequence's blocks reach at least to its position; keys and values of
/// all earlier positions are in them or are computed by earlier rows of the same call.
struct TokenRow {
  base::TokenId token;
  std::int64_t position;
  float* const* blocks;
};

/// The forward pass over rows of any sequences. A row's result depends on its sequence alone.
class Decoder {
 public:
  /// Positions are below `context_tokens`. Results are the same for any number of threads.
  Decoder(const model::ModelConfig& config, std::int64_t context_tokens, int threads = 1);

  [[nodiscard]] const model::CacheShape& cache_shape() const { return shape_; }
  /// The threads that compute, for what else a step has to do. Between calls only.
  [[nodiscard]] base::ThreadTeam& team() { return team_; }

  /// Takes memory for calls of so many rows, and logits of so many, at once. Without it buffers
  /// grow with the calls, which leaves holes behind; memory that is not used yet costs nothing.
  void reserve(std::int64_t rows, std::int64_t logit_rows);
  /// Computes rows and stores their keys and values. `wanted`: rising indices of the rows whose
  /// logits will be asked for.
  void forward(const EngineWeights& weights, std::span<const TokenRow> rows,
               std::span<const std::int64_t> wanted);
  /// Logits [count, vocab_size] of the wanted rows first, first + 1 ...; they hold until the next
  /// call.
  [[nodiscard]] const float* logits(const EngineWeights& weights, std::int64_t first,
                                    std::int64_t count);

 private:
  void reserve_rows(std::int64_t count);
  void embed(const EngineWeights& weights, std::span<const TokenRow> rows);
  void project(const LayerWeights& layer, std::int64_t count);
  void norm(const float* x, const float* weight, std::int64_t count);
  void norm_heads(const LayerWeights& layer, std::int64_t first, std::int64_t count);
  [[nodiscard]] model::CacheRow cache_row(const TokenRow& row, std::int64_t layer) const {
    return {row.blocks, layer, row.position, config_.window(layer)};
  }
  void prefetch(const TokenRow& row, std::int64_t layer) const;
  void store(const TokenRow& row, std::int64_t layer, std::int64_t from);
  void store_all(std::span<const TokenRow> rows, std::int64_t layer);
  void attend_all(std::span<const TokenRow> rows, std::int64_t layer);
  void attend_wanted(std::span<const TokenRow> rows, std::span<const std::int64_t> wanted);
  void add_attention(const LayerWeights& layer, std::int64_t count);
  void add_feed_forward(const LayerWeights& layer, std::int64_t count);
  /// work(first, count) for parts of the rows, on the team if there are many.
  template <class Work>
  void share_rows(std::int64_t count, Work work);
  /// Rows [from, from + count) of one sequence, whose results are [to, to + count).
  struct AttentionPiece {
    std::int64_t from;
    std::int64_t to;
    std::int64_t count;
  };
  template <class RowAt>
  void plan_attention(std::span<const TokenRow> rows, std::int64_t count, RowAt row_at);
  /// Result `to` < count is that of row row_at(to).
  [[nodiscard]] std::int64_t shares_of_piece(std::int64_t pieces) const;
  template <class RowAt>
  void attend_rows(std::span<const TokenRow> rows, std::int64_t layer, std::int64_t count,
                   RowAt row_at);
  /// Moves the residuals of the wanted rows to the front.
  void keep(std::span<const std::int64_t> wanted);

  model::ModelConfig config_;
  model::CacheShape shape_;
  model::RopeTable rope_;
  float epsilon_;
  base::ThreadTeam team_;
  model::AlignedBuffer residual_;  ///< [rows, hidden]
  model::AlignedBuffer normed_;    ///< [rows, hidden]
  model::AlignedBuffer qkv_;       ///< [rows, attention_width]
  model::AlignedBuffer attended_;  ///< [rows, query_width]
  model::AlignedBuffer gate_up_;   ///< [feed_forward_rows, 2 intermediate]
  model::AlignedBuffer inner_;     ///< [feed_forward_rows, intermediate]
  ExpertDecoder experts_;
  std::vector<AttentionPiece> pieces_;
  model::AlignedBuffer logits_;
  std::int64_t scratch_floats_;
  model::AlignedBuffer scratch_;  ///< [threads, scratch_floats_]
};

}  // namespace physarum::rollout
