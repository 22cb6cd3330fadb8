#pragma once

// Compiled once for each target: see simd.hpp.

#include <cmath>

#include "kernels.hpp"
#include "tile_product.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

/// Queries are taken in blocks of this many: rows of scores stay in the first cache, and a block
/// sees only the keys up to its last row.
constexpr std::int64_t query_block = 16;

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Sizes of the packed matrices: padded with zeros to whole tiles, so that no kernel has edges.
struct Packing {
  explicit Packing(const AttentionShape& shape)
      : head_dim(shape.head_dim),
        width(round_up(shape.head_dim, tile_columns)),
        tokens(shape.tokens),
        padded_tokens(round_up(shape.tokens, query_block)) {}
  std::int64_t head_dim;
  std::int64_t width;  ///< head_dim in whole tiles
  std::int64_t tokens;
  std::int64_t padded_tokens;
  [[nodiscard]] std::int64_t sequence() const { return padded_tokens * width; }
  [[nodiscard]] std::int64_t block() const { return query_block * width; }
  [[nodiscard]] std::int64_t scores() const { return query_block * padded_tokens; }
};

/// Hands out pieces of the scratch memory.
class Scratch {
 public:
  explicit Scratch(float* memory) : next_(memory) {}
  float* take(std::int64_t count) {
    float* piece = next_;
    next_ += count;
    return piece;
  }

 private:
  float* next_;
};

inline void fill(float* at, std::int64_t count, float value) {
  for (std::int64_t i = 0; i < count; ++i) at[i] = value;
}

enum class Turn : int { forward = 1, back = -1 };

/// Rotates the pairs (d, d + head_dim / 2) of one head of one token by its position's angles, or
/// back, and scales.
inline void rotate(const AttentionShape& shape, std::int64_t token, Turn turn, float scale,
                   const float* x, float* y) {
  const std::int64_t half = shape.head_dim / 2;
  const float* cosines = shape.cosines + token * half;
  const float* sines = shape.sines + token * half;
  const float sign = static_cast<float>(static_cast<int>(turn));
  for (std::int64_t d = 0; d < half; ++d) {
    const float cosine = cosines[d] * scale;
    const float sine = sines[d] * scale * sign;
    const float low = x[d];
    const float high = x[d + half];
    y[d] = low * cosine - high * sine;
    y[d + half] = high * cosine + low * sine;
  }
}

/// Where one head's columns start in a row of qkv.
inline std::int64_t key_column(const AttentionShape& shape, std::int64_t group) {
  return (shape.heads + group) * shape.head_dim;
}
inline std::int64_t value_column(const AttentionShape& shape, std::int64_t group) {
  return (shape.heads + shape.key_value_heads + group) * shape.head_dim;
}

/// Rotated keys of one head, [padded_tokens, width].
inline void pack_keys(const AttentionShape& shape, const Packing& packing, const float* qkv,
                      std::int64_t group, float* keys) {
  fill(keys, packing.sequence(), 0.0F);
  const float* from = qkv + key_column(shape, group);
  for (std::int64_t t = 0; t < packing.tokens; ++t) {
    rotate(shape, t, Turn::forward, 1.0F, from + t * shape.row_width(), keys + t * packing.width);
  }
}

/// Rows of one head's columns, [padded_rows, width]; rows behind the last token are zeros.
inline void pack_rows(const Packing& packing, const float* from, std::int64_t stride,
                      std::int64_t first, std::int64_t rows, float* to) {
  fill(to, rows * packing.width, 0.0F);
  const std::int64_t end = first + rows < packing.tokens ? first + rows : packing.tokens;
  for (std::int64_t t = first; t < end; ++t) {
    std::memcpy(to + (t - first) * packing.width, from + t * stride,
                static_cast<std::size_t>(packing.head_dim) * sizeof(float));
  }
}

/// [padded_tokens, width] to panels of 16 tokens, each [width, 16]: the right factor of a product
/// whose columns are tokens.
inline void transpose_to_panels(const Packing& packing, const float* rows, float* panels) {
  for (std::int64_t t = 0; t < packing.padded_tokens; ++t) {
    float* panel = panels + t / tile_columns * tile_columns * packing.width + t % tile_columns;
    const float* row = rows + t * packing.width;
    for (std::int64_t d = 0; d < packing.width; ++d) panel[d * tile_columns] = row[d];
  }
}

/// Rotated and scaled queries of one block, [query_block, width].
inline void pack_queries(const AttentionShape& shape, const Packing& packing, const float* qkv,
                         std::int64_t head, std::int64_t first, float* queries) {
  fill(queries, packing.block(), 0.0F);
  const float scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim));
  const float* from = qkv + head * shape.head_dim;
  for (std::int64_t t = first; t < first + query_block && t < packing.tokens; ++t) {
    rotate(shape, t, Turn::forward, scale, from + t * shape.row_width(),
           queries + (t - first) * packing.width);
  }
}

/// First key that query `token` can see.
inline std::int64_t first_seen(const AttentionShape& shape, std::int64_t token) {
  return shape.window > 0 && token >= shape.window ? token - shape.window + 1 : 0;
}

/// Keys that a block of queries can see, in whole tiles: [begin, begin + count). Scores of the
/// block have one column for each of them.
struct KeyRange {
  KeyRange(const AttentionShape& shape, const Packing& packing, std::int64_t first_query)
      : begin(first_seen(shape, first_query) / tile_columns * tile_columns) {
    const std::int64_t end = round_up(first_query + query_block, tile_columns);
    count = (end < packing.padded_tokens ? end : packing.padded_tokens) - begin;
  }
  std::int64_t begin;
  std::int64_t count;
};

/// Scores of keys before a query's window become so low that their exponential is 0. These are at
/// most the columns of the first two tiles.
inline void hide_before_window(const AttentionShape& shape, const KeyRange& keys,
                               std::int64_t token, float* scores) {
  const std::int64_t hidden = first_seen(shape, token) - keys.begin;
  if (hidden > 0) fill(scores, hidden, -1e30F);
}

}  // namespace physarum::model::PHYSARUM_KERNELS
