#pragma once

// Compiled once for each target: see simd.hpp. Reads like attention_kernels.hpp.

#include "attention_packing.hpp"
#include "norm_kernels.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

struct BackwardMemory {
  BackwardMemory(const Packing& packing, float* scratch) {
    Scratch pieces(scratch);
    keys = pieces.take(packing.sequence());
    key_panels = pieces.take(packing.sequence());
    value_panels = pieces.take(packing.sequence());
    d_keys = pieces.take(packing.sequence());
    d_values = pieces.take(packing.sequence());
    queries = pieces.take(packing.block());
    d_outputs = pieces.take(packing.block());
    d_queries = pieces.take(packing.block());
    probabilities = pieces.take(packing.scores());
    d_scores = pieces.take(packing.scores());
  }
  float* keys;
  float* key_panels;
  float* value_panels;
  float* d_keys;
  float* d_values;
  float* queries;
  float* d_outputs;
  float* d_queries;
  float* probabilities;
  float* d_scores;
};

/// One row: scores become probabilities p; gradients of probabilities become gradients of scores,
/// p * (d - sum(p * d)), where the sum is the dot product of output and its gradient.
inline void softmax_row_backward(float* scores, float* d_scores, std::int64_t keys,
                                 std::int64_t row, float log_sum, float weighted) {
  for (std::int64_t j = 0; j < keys; j += lanes) {
    const Floats p = keep_first(exp(load(scores + j) - splat(log_sum)), row + 1 - j, 0.0F);
    store(scores + j, p);
    store(d_scores + j, p * (load(d_scores + j) - splat(weighted)));
  }
}

/// Scores and their gradients for a block; rows behind the last token become zeros, since they take
/// part in the sums over rows that follow.
inline void block_gradients(const AttentionShape& shape, const Packing& packing, std::int64_t head,
                            std::int64_t first, const KeyRange& keys, const BackwardMemory& memory,
                            const float* out, const float* log_sums) {
  const std::int64_t panel = tile_columns * packing.width;
  const std::int64_t begin = keys.begin * packing.width;
  multiply<Store::replace>(query_block, keys.count, packing.width,
                           {memory.queries, packing.width, 1},
                           {memory.key_panels + begin, panel, tile_columns},
                           {memory.probabilities, packing.padded_tokens});
  multiply<Store::replace>(
      query_block, keys.count, packing.width, {memory.d_outputs, packing.width, 1},
      {memory.value_panels + begin, panel, tile_columns}, {memory.d_scores, packing.padded_tokens});
  for (std::int64_t r = 0; r < query_block; ++r) {
    float* scores = memory.probabilities + r * packing.padded_tokens;
    float* d_scores = memory.d_scores + r * packing.padded_tokens;
    const std::int64_t token = first + r;
    if (token >= packing.tokens) {
      fill(scores, keys.count, 0.0F);
      fill(d_scores, keys.count, 0.0F);
      continue;
    }
    const float* output = out + token * shape.heads * shape.head_dim + head * shape.head_dim;
    const float weighted =
        sum_of_products(output, memory.d_outputs + r * packing.width, shape.head_dim);
    hide_before_window(shape, keys, token, scores);
    softmax_row_backward(scores, d_scores, keys.count, token - keys.begin, log_sums[token],
                         weighted);
  }
}

inline void attend_block_backward(const AttentionShape& shape, const Packing& packing,
                                  const float* qkv, std::int64_t head, std::int64_t first,
                                  const BackwardMemory& memory, const float* out,
                                  const float* log_sums, const float* d_out, float* d_qkv) {
  const KeyRange keys(shape, packing, first);
  const std::int64_t begin = keys.begin * packing.width;
  const std::int64_t row = packing.padded_tokens;
  pack_queries(shape, packing, qkv, head, first, memory.queries);
  pack_rows(packing, d_out + head * shape.head_dim, shape.heads * shape.head_dim, first,
            query_block, memory.d_outputs);
  block_gradients(shape, packing, head, first, keys, memory, out, log_sums);
  multiply<Store::add>(keys.count, packing.width, query_block, {memory.probabilities, 1, row},
                       {memory.d_outputs, tile_columns, packing.width},
                       {memory.d_values + begin, packing.width});
  multiply<Store::add>(keys.count, packing.width, query_block, {memory.d_scores, 1, row},
                       {memory.queries, tile_columns, packing.width},
                       {memory.d_keys + begin, packing.width});
  multiply<Store::replace>(query_block, packing.width, keys.count, {memory.d_scores, row, 1},
                           {memory.keys + begin, tile_columns, packing.width},
                           {memory.d_queries, packing.width});
  const float scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim));
  for (std::int64_t t = first; t < first + query_block && t < packing.tokens; ++t) {
    rotate(shape, t, Turn::back, scale, memory.d_queries + (t - first) * packing.width,
           d_qkv + t * shape.row_width() + head * shape.head_dim);
  }
}

inline void unpack_key_value_gradients(const AttentionShape& shape, const Packing& packing,
                                       std::int64_t group, const BackwardMemory& memory,
                                       float* d_qkv) {
  for (std::int64_t t = 0; t < packing.tokens; ++t) {
    float* row = d_qkv + t * shape.row_width();
    rotate(shape, t, Turn::back, 1.0F, memory.d_keys + t * packing.width,
           row + key_column(shape, group));
    std::memcpy(row + value_column(shape, group), memory.d_values + t * packing.width,
                static_cast<std::size_t>(shape.head_dim) * sizeof(float));
  }
}

inline void attention_backward(const AttentionShape& shape, const float* qkv, const float* out,
                               const float* log_sums, const float* d_out, float* d_qkv,
                               float* scratch) {
  const Packing packing(shape);
  const BackwardMemory memory(packing, scratch);
  const std::int64_t heads_per_group = shape.heads / shape.key_value_heads;
  for (std::int64_t group = 0; group < shape.key_value_heads; ++group) {
    // The gradients' memory first holds the values on their way into panels.
    pack_rows(packing, qkv + value_column(shape, group), shape.row_width(), 0,
              packing.padded_tokens, memory.d_values);
    transpose_to_panels(packing, memory.d_values, memory.value_panels);
    pack_keys(shape, packing, qkv, group, memory.keys);
    transpose_to_panels(packing, memory.keys, memory.key_panels);
    fill(memory.d_keys, packing.sequence(), 0.0F);
    fill(memory.d_values, packing.sequence(), 0.0F);
    for (std::int64_t h = 0; h < heads_per_group; ++h) {
      const std::int64_t head = group * heads_per_group + h;
      for (std::int64_t first = 0; first < packing.tokens; first += query_block) {
        attend_block_backward(shape, packing, qkv, head, first, memory, out,
                              log_sums + head * packing.tokens, d_out, d_qkv);
      }
    }
    unpack_key_value_gradients(shape, packing, group, memory, d_qkv);
  }
}

}  // namespace physarum::model::PHYSARUM_KERNELS
