#pragma once

// Compiled once for each target: see simd.hpp.
//
// Attention of one sequence, head by head, in blocks of queries. Keys and values of a key-value
// head are packed once and serve all query heads of its group. A block's scores are computed whole
// (no running maximum): a row has at most as many keys as the sequence has tokens.

#include "attention_packing.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

inline std::int64_t attention_scratch(const AttentionShape& shape) {
  const Packing packing(shape);
  // The way back needs keys, key panels, value panels and the gradients of keys and values; and of
  // a block queries, gradients of outputs and of queries, scores and their gradients.
  return 5 * packing.sequence() + 3 * packing.block() + 2 * packing.scores();
}

/// Scores become e^(score - largest), 0 for keys after column `row`, the query's own. Returns log
/// of their sum.
inline float softmax_row(float* scores, std::int64_t keys, std::int64_t row, float* inverse_sum) {
  Floats largest = splat(-1e30F);
  for (std::int64_t j = 0; j < keys; j += lanes) {
    largest = max(largest, keep_first(load(scores + j), row + 1 - j, -1e30F));
  }
  const float top = max_of(largest);
  Chains sums;
  for (std::int64_t j = 0; j < keys; j += lanes) {
    const Floats e = keep_first(exp(load(scores + j) - splat(top)), row + 1 - j, 0.0F);
    store(scores + j, e);
    sums.add(e);
  }
  const float sum = sums.total();
  *inverse_sum = 1.0F / sum;
  return top + std::log(sum);
}

struct ForwardMemory {
  ForwardMemory(const Packing& packing, float* scratch) {
    Scratch pieces(scratch);
    rows = pieces.take(packing.sequence());
    key_panels = pieces.take(packing.sequence());
    values = pieces.take(packing.sequence());
    queries = pieces.take(packing.block());
    outputs = pieces.take(packing.block());
    scores = pieces.take(packing.scores());
  }
  float* rows;  ///< keys, until they are in panels
  float* key_panels;
  float* values;
  float* queries;
  float* outputs;
  float* scores;
};

inline void attend_block(const AttentionShape& shape, const Packing& packing, const float* qkv,
                         std::int64_t head, std::int64_t first, const ForwardMemory& memory,
                         float* out, float* log_sums) {
  const KeyRange keys(shape, packing, first);
  pack_queries(shape, packing, qkv, head, first, memory.queries);
  multiply<Store::replace>(
      query_block, keys.count, packing.width, {memory.queries, packing.width, 1},
      {memory.key_panels + keys.begin * packing.width, tile_columns * packing.width, tile_columns},
      {memory.scores, packing.padded_tokens});
  const std::int64_t rows =
      packing.tokens - first < query_block ? packing.tokens - first : query_block;
  float inverse_sums[query_block];
  for (std::int64_t r = 0; r < rows; ++r) {
    float* scores = memory.scores + r * packing.padded_tokens;
    hide_before_window(shape, keys, first + r, scores);
    log_sums[first + r] = softmax_row(scores, keys.count, first + r - keys.begin, &inverse_sums[r]);
  }
  multiply<Store::replace>(
      query_block, packing.width, keys.count, {memory.scores, packing.padded_tokens, 1},
      {memory.values + keys.begin * packing.width, tile_columns, packing.width},
      {memory.outputs, packing.width});
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* from = memory.outputs + r * packing.width;
    float* to = out + (first + r) * shape.heads * shape.head_dim + head * shape.head_dim;
    for (std::int64_t d = 0; d < shape.head_dim; ++d) to[d] = from[d] * inverse_sums[r];
  }
}

inline void attention(const AttentionShape& shape, const float* qkv, float* out, float* log_sums,
                      float* scratch) {
  const Packing packing(shape);
  const ForwardMemory memory(packing, scratch);
  const std::int64_t heads_per_group = shape.heads / shape.key_value_heads;
  for (std::int64_t group = 0; group < shape.key_value_heads; ++group) {
    pack_keys(shape, packing, qkv, group, memory.rows);
    transpose_to_panels(packing, memory.rows, memory.key_panels);
    pack_rows(packing, qkv + value_column(shape, group), shape.row_width(), 0,
              packing.padded_tokens, memory.values);
    for (std::int64_t h = 0; h < heads_per_group; ++h) {
      const std::int64_t head = group * heads_per_group + h;
      for (std::int64_t first = 0; first < packing.tokens; first += query_block) {
        attend_block(shape, packing, qkv, head, first, memory, out,
                     log_sums + head * packing.tokens);
      }
    }
  }
}

}  // namespace physarum::model::PHYSARUM_KERNELS

#include "attention_backward.hpp"
