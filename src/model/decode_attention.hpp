#pragma once

// Compiled once for each target: see simd.hpp.
//
// One query against a cache. A score is one chain over the head's dimensions, an output one chain
// over the positions, and the sum of exponentials has eight chains over the positions: the order
// depends on the position alone, so that reading a prompt and decoding give the same bits.

#include <cmath>

#include "physarum/model/decode_kernels.hpp"

#include "attention_packing.hpp"
#include "gemm_tile.hpp"
#include "simd.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

/// Keys and values of one layer and key-value head in the blocks that can be seen. Positions count
/// from the first of these blocks.
struct HeadCache {
  float* const* blocks;
  std::int64_t offset;     ///< of the keys in a block
  std::int64_t values_at;  ///< of the values behind them
  std::int64_t head_dim;
  std::int64_t value_width;
  std::int64_t hidden;  ///< positions of the first block that lie before the window
  std::int64_t tokens;  ///< positions up to the last one that can be seen
  [[nodiscard]] const float* keys(std::int64_t block) const { return blocks[block] + offset; }
  [[nodiscard]] const float* values(std::int64_t block) const { return keys(block) + values_at; }
};

constexpr int block_vectors = cache_block_tokens / lanes;

/// Scores of `heads` query heads with `blocks` blocks of keys.
template <int heads, int blocks>
PHYSARUM_INLINE void score_blocks(const HeadCache& cache, std::int64_t block, const float* queries,
                                  std::int64_t padded, float* scores) {
  constexpr int vectors = blocks * block_vectors;
  Floats sums[heads][vectors];
  const float* keys[blocks];
  for (int b = 0; b < blocks; ++b) keys[b] = cache.keys(block + b);
  for (int h = 0; h < heads; ++h) {
    for (int v = 0; v < vectors; ++v) sums[h][v] = splat(0.0F);
  }
  for (std::int64_t d = 0; d < cache.head_dim; ++d) {
    Floats key[vectors];
    for (int v = 0; v < vectors; ++v) {
      key[v] = load(keys[v / block_vectors] + d * cache_block_tokens + v % block_vectors * lanes);
    }
    for (int h = 0; h < heads; ++h) {
      const Floats query = splat(queries[h * cache.head_dim + d]);
      for (int v = 0; v < vectors; ++v) sums[h][v] = multiply_add(query, key[v], sums[h][v]);
    }
  }
  for (int h = 0; h < heads; ++h) {
    for (int v = 0; v < vectors; ++v) {
      store(scores + h * padded + block * cache_block_tokens + v * lanes, sums[h][v]);
    }
  }
}

/// From `block` on, `wide` blocks at a time, then half as many.
template <int heads, int wide>
PHYSARUM_INLINE void score_from(const HeadCache& cache, std::int64_t block, const float* queries,
                                std::int64_t padded, float* scores) {
  const std::int64_t blocks = padded / cache_block_tokens;
  for (; block + wide <= blocks; block += wide) {
    score_blocks<heads, wide>(cache, block, queries, padded, scores);
  }
  if constexpr (wide > 1) score_from<heads, wide / 2>(cache, block, queries, padded, scores);
}

/// Scores become e^(score - largest), 0 behind the last position. Returns 1 / their sum.
inline float soften(float* scores, std::int64_t tokens, std::int64_t padded) {
  Floats largest = splat(-1e30F);
  for (std::int64_t j = 0; j < padded; j += lanes) {
    largest = max(largest, keep_first(load(scores + j), tokens - j, -1e30F));
  }
  const Floats top = splat(max_of(largest));
  Chains sums;
  for (std::int64_t j = 0; j < padded; j += lanes) {
    const Floats e = keep_first(exp(load(scores + j) - top), tokens - j, 0.0F);
    store(scores + j, e);
    sums.add(e);
  }
  return 1.0F / sums.total();
}

/// out[h] = factor[h] * sum over positions of weights[h] * values, for `vectors` vectors of
/// columns. Not `whole`: one vector, of whose columns the values have only some.
template <int heads, int vectors, bool whole = true>
PHYSARUM_INLINE void mix_columns(const HeadCache& cache, std::int64_t column, const float* weights,
                                 std::int64_t padded, const float* factors, float* out) {
  Floats sums[heads][vectors];
  for (int h = 0; h < heads; ++h) {
    for (int v = 0; v < vectors; ++v) sums[h][v] = splat(0.0F);
  }
  for (std::int64_t first = 0; first < cache.tokens; first += cache_block_tokens) {
    const float* values = cache.values(first / cache_block_tokens) + column;
    const std::int64_t left = cache.tokens - first;
    const std::int64_t count = left < cache_block_tokens ? left : cache_block_tokens;
    for (std::int64_t t = 0; t < count; ++t) {
      Floats value[vectors];
      for (int v = 0; v < vectors; ++v) {
        const float* from = values + t * cache.value_width + v * lanes;
        value[v] = whole ? load(from) : load_some(from, cache.value_width - column, 0.0F);
      }
      for (int h = 0; h < heads; ++h) {
        const Floats weight = splat(weights[h * padded + first + t]);
        for (int v = 0; v < vectors; ++v) sums[h][v] = multiply_add(weight, value[v], sums[h][v]);
      }
    }
  }
  for (int h = 0; h < heads; ++h) {
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t at = column + v * lanes;
      const std::int64_t left = cache.head_dim - at;
      store_up_to(out + h * cache.head_dim + at, left < lanes ? left : lanes,
                  sums[h][v] * splat(factors[h]));
    }
  }
}

/// From `column` on, `wide` vectors at a time, then half as many.
template <int heads, int wide>
PHYSARUM_INLINE void mix_from(const HeadCache& cache, std::int64_t column, const float* weights,
                              std::int64_t padded, const float* factors, float* out) {
  for (; column + wide * lanes <= cache.value_width; column += wide * lanes) {
    mix_columns<heads, wide>(cache, column, weights, padded, factors, out);
  }
  if constexpr (wide > 1)
    return mix_from<heads, wide / 2>(cache, column, weights, padded, factors, out);
  if (column < cache.value_width)
    mix_columns<heads, 1, false>(cache, column, weights, padded, factors, out);
}

template <int heads>
inline void attend_heads(const HeadCache& cache, const float* queries, float* out, float* scores) {
  const std::int64_t padded = round_up(cache.tokens, cache_block_tokens);
  score_from<heads, 4 / heads*(2 / block_vectors)>(cache, 0, queries, padded, scores);
  float factors[heads];
  for (int h = 0; h < heads; ++h) {
    // So low that its exponential is 0.
    if (cache.hidden > 0) fill(scores + h * padded, cache.hidden, -1e30F);
    factors[h] = soften(scores + h * padded, cache.tokens, padded);
  }
  mix_from<heads, (heads <= 2 ? 4 : 2)>(cache, 0, scores, padded, factors, out);
}

inline void attend(const CacheShape& shape, const CacheRow& row, const float* queries, float* out,
                   float* scratch) {
  const std::int64_t group = shape.heads / shape.key_value_heads;
  const std::int64_t block = row.first_seen() / cache_block_tokens;
  const std::int64_t begin = block * cache_block_tokens;
  for (std::int64_t kv = 0; kv < shape.key_value_heads; ++kv) {
    const HeadCache cache{.blocks = row.blocks + block,
                          .offset = row.layer * shape.layer_floats() + kv * shape.head_floats(),
                          .values_at = shape.key_floats(),
                          .head_dim = shape.head_dim,
                          .value_width = shape.value_width(),
                          .hidden = row.first_seen() - begin,
                          .tokens = row.position + 1 - begin};
    std::int64_t head = 0;
    while (head < group) {
      const std::int64_t at = (kv * group + head) * shape.head_dim;
      const std::int64_t left = group - head;
      if (left >= 4) {
        attend_heads<4>(cache, queries + at, out + at, scratch);
        head += 4;
      } else if (left >= 2) {
        attend_heads<2>(cache, queries + at, out + at, scratch);
        head += 2;
      } else {
        attend_heads<1>(cache, queries + at, out + at, scratch);
        head += 1;
      }
    }
  }
}

}  // namespace physarum::model::PHYSARUM_KERNELS
