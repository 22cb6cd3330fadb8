#pragma once

// Compiled once for each target: see simd.hpp.
//
// Queries against a cache. A score is one chain over the head's dimensions, an output one chain
// over the positions, and the sum of exponentials has eight chains over the positions: the order
// depends on the position alone, so that reading a prompt and decoding give the same bits. Several
// queries go together, heads of a row and rows of a prompt, because a key or value that has been
// loaded once is then used several times.

#include <cmath>
#include <type_traits>

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
  [[nodiscard]] const float* keys(std::int64_t block) const { return blocks[block] + offset; }
  [[nodiscard]] const float* values(std::int64_t block) const { return keys(block) + values_at; }
};

/// The query heads of some rows of one sequence that look at the same keys: `group` of each row,
/// row by row, and what becomes of them.
struct QueryTile {
  AttendRows rows;
  std::int64_t head;   ///< the first of each row
  std::int64_t group;  ///< of each row
  std::int64_t head_dim;
  std::int64_t begin;   ///< first position of the cache's first block
  std::int64_t padded;  ///< positions up to the last row's, in whole blocks
  std::int64_t width;   ///< of a row of sums
  float* scores;        ///< [count, padded]
  float* sums;          ///< [count, width]

  [[nodiscard]] std::int64_t count() const { return rows.count * group; }
  [[nodiscard]] std::int64_t column(std::int64_t q) const { return (head + q % group) * head_dim; }
  [[nodiscard]] const float* query(std::int64_t q) const {
    return rows.queries + q / group * rows.query_stride + column(q);
  }
  [[nodiscard]] float* out(std::int64_t q) const {
    return rows.out + q / group * rows.out_stride + column(q);
  }
  [[nodiscard]] CacheRow row(std::int64_t q) const {
    CacheRow row = rows.first;
    row.position += q / group;
    return row;
  }
  /// Positions before the window, and up to the last one that can be seen.
  [[nodiscard]] std::int64_t hidden(std::int64_t q) const { return row(q).first_seen() - begin; }
  [[nodiscard]] std::int64_t tokens(std::int64_t q) const { return row(q).position + 1 - begin; }
  [[nodiscard]] float* scores_of(std::int64_t q) const { return scores + q * padded; }
  [[nodiscard]] float* sums_of(std::int64_t q) const { return sums + q * width; }
};

constexpr int block_vectors = cache_block_tokens / lanes;
/// Queries that go together, and their sums, which fill the vector registers.
constexpr int most_together = 6;
constexpr int most_sums = lanes == 16 ? 24 : 12;
/// Keys or values of this many blocks stay in the first cache while all queries pass them.
constexpr std::int64_t passed_blocks = 4;

constexpr int vectors_for(int queries) {
  int vectors = 8;
  while (vectors * queries > most_sums) vectors /= 2;
  return vectors;
}

/// work(n, first) for all queries in pieces that are as equal as possible; n is a constant.
template <class Work>
PHYSARUM_INLINE void in_pieces(std::int64_t count, Work work) {
  std::int64_t pieces = (count + most_together - 1) / most_together;
  for (std::int64_t first = 0; first < count; --pieces) {
    const std::int64_t queries = (count - first + pieces - 1) / pieces;
    switch (queries) {
      case 1:
        work(std::integral_constant<int, 1>(), first);
        break;
      case 2:
        work(std::integral_constant<int, 2>(), first);
        break;
      case 3:
        work(std::integral_constant<int, 3>(), first);
        break;
      case 4:
        work(std::integral_constant<int, 4>(), first);
        break;
      case 5:
        work(std::integral_constant<int, 5>(), first);
        break;
      default:
        work(std::integral_constant<int, 6>(), first);
        break;
    }
    first += queries;
  }
}

/// Blocks lie anywhere in memory, a page or so each, and the processor does not foresee the next
/// one: loops ask for it line by line. Behind the last keys come the values.
PHYSARUM_INLINE const float* next_keys(const HeadCache& cache, const QueryTile& tile,
                                       std::int64_t block) {
  const std::int64_t blocks = tile.padded / cache_block_tokens;
  if (block < blocks) return cache.keys(block);
  return cache.values(block - blocks < blocks ? block - blocks : 0);
}
PHYSARUM_INLINE const float* next_values(const HeadCache& cache, const QueryTile& tile,
                                         std::int64_t block) {
  return cache.values((block + 2) * cache_block_tokens < tile.padded ? block + 2 : block);
}

/// Scores of `queries` queries with `blocks` blocks of keys.
template <int queries, int blocks>
PHYSARUM_INLINE void score_blocks(const HeadCache& cache, const QueryTile& tile, std::int64_t first,
                                  std::int64_t block) {
  constexpr int vectors = blocks * block_vectors;
  Floats sums[queries][vectors];
  const float* query[queries];
  const float* keys[blocks];
  const float* next[blocks];
  for (int b = 0; b < blocks; ++b) {
    keys[b] = cache.keys(block + b);
    next[b] = next_keys(cache, tile, block + blocks + b);
  }
#pragma GCC unroll 8
  for (int q = 0; q < queries; ++q) {
    query[q] = tile.query(first + q);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sums[q][v] = splat(0.0F);
  }
  for (std::int64_t d = 0; d < cache.head_dim; ++d) {
    Floats key[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      key[v] = load(keys[v / block_vectors] + d * cache_block_tokens + v % block_vectors * lanes);
    }
#pragma GCC unroll 8
    for (int b = 0; b < blocks; ++b) __builtin_prefetch(next[b] + d * cache_block_tokens, 0, 3);
#pragma GCC unroll 8
    for (int q = 0; q < queries; ++q) {
      const Floats factor = splat(query[q][d]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sums[q][v] = multiply_add(factor, key[v], sums[q][v]);
    }
  }
#pragma GCC unroll 8
  for (int q = 0; q < queries; ++q) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      store(tile.scores_of(first + q) + block * cache_block_tokens + v * lanes, sums[q][v]);
    }
  }
}

/// Blocks [block, end), `wide` at a time, then half as many.
template <int queries, int wide>
PHYSARUM_INLINE void score_from(const HeadCache& cache, const QueryTile& tile, std::int64_t first,
                                std::int64_t block, std::int64_t end) {
  for (; block + wide <= end; block += wide) {
    score_blocks<queries, wide>(cache, tile, first, block);
  }
  if constexpr (wide > 1) score_from<queries, wide / 2>(cache, tile, first, block, end);
}

/// Scores become e^(score - largest), 0 behind the last position. Returns 1 / their sum.
inline float soften(float* scores, std::int64_t tokens) {
  const std::int64_t padded = round_up(tokens, cache_block_tokens);
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

/// Positions of the cache.
struct Span {
  std::int64_t begin;
  std::int64_t end;
};

/// sums += weights * values over some positions, for `vectors` vectors of columns. Not `whole`: one
/// vector, of whose columns the values have only some.
template <int queries, int vectors, bool whole = true>
PHYSARUM_INLINE void mix_columns(const HeadCache& cache, const QueryTile& tile, std::int64_t first,
                                 Span span, std::int64_t column) {
  Floats sums[queries][vectors];
  const float* weights[queries];
#pragma GCC unroll 8
  for (int q = 0; q < queries; ++q) {
    weights[q] = tile.scores_of(first + q);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      sums[q][v] = load(tile.sums_of(first + q) + column + v * lanes);
  }
  for (std::int64_t t = span.begin; t < span.end;) {
    const std::int64_t block = t / cache_block_tokens;
    const std::int64_t block_end = (block + 1) * cache_block_tokens;
    const std::int64_t end = block_end < span.end ? block_end : span.end;
    const std::int64_t at = column + t % cache_block_tokens * cache.value_width;
    const float* from = cache.values(block) + at;
    const float* next = next_values(cache, tile, block) + at;
    for (; t < end; ++t, from += cache.value_width, next += cache.value_width) {
      Floats value[vectors];
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        __builtin_prefetch(next + v * lanes, 0, 3);
        value[v] = whole ? load(from + v * lanes) : load_some(from, cache.value_width - column, 0);
      }
#pragma GCC unroll 8
      for (int q = 0; q < queries; ++q) {
        const Floats weight = splat(weights[q][t]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) sums[q][v] = multiply_add(weight, value[v], sums[q][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int q = 0; q < queries; ++q) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v)
      store(tile.sums_of(first + q) + column + v * lanes, sums[q][v]);
  }
}

/// From `column` on, `wide` vectors at a time, then half as many.
template <int queries, int wide>
PHYSARUM_INLINE void mix_from(const HeadCache& cache, const QueryTile& tile, std::int64_t first,
                              Span span, std::int64_t column) {
  for (; column + wide * lanes <= cache.value_width; column += wide * lanes) {
    mix_columns<queries, wide>(cache, tile, first, span, column);
  }
  if constexpr (wide > 1) return mix_from<queries, wide / 2>(cache, tile, first, span, column);
  if (column < cache.value_width) mix_columns<queries, 1, false>(cache, tile, first, span, column);
}

template <int queries>
inline void mix(const HeadCache& cache, const QueryTile& tile, std::int64_t first, Span span) {
  if (span.begin < span.end) mix_from<queries, vectors_for(queries)>(cache, tile, first, span, 0);
}

inline void score_tile(const HeadCache& cache, const QueryTile& tile) {
  const std::int64_t blocks = tile.padded / cache_block_tokens;
  const std::int64_t step = tile.count() > most_together ? passed_blocks : blocks;
  for (std::int64_t block = 0; block < blocks; block += step) {
    const std::int64_t end = block + step < blocks ? block + step : blocks;
    in_pieces(tile.count(), [&](auto queries, std::int64_t first) {
      score_from<queries, vectors_for(queries) / block_vectors>(cache, tile, first, block, end);
    });
  }
}

/// What all of a piece can see is added together, then each query gets what it sees besides.
inline void mix_tile(const HeadCache& cache, const QueryTile& tile) {
  const std::int64_t step =
      tile.count() > most_together ? passed_blocks * cache_block_tokens : tile.padded;
  for (std::int64_t at = 0; at < tile.padded; at += step) {
    in_pieces(tile.count(), [&](auto queries, std::int64_t first) {
      const std::int64_t common = tile.tokens(first);
      mix<queries>(cache, tile, first, {at, at + step < common ? at + step : common});
    });
  }
  in_pieces(tile.count(), [&](auto queries, std::int64_t first) {
    for (std::int64_t q = first + 1; q < first + queries; ++q) {
      mix<1>(cache, tile, q, {tile.tokens(first), tile.tokens(q)});
    }
  });
}

inline void attend_tile(const HeadCache& cache, const QueryTile& tile) {
  fill(tile.sums, tile.count() * tile.width, 0.0F);
  score_tile(cache, tile);
  float* factors = tile.sums + tile.count() * tile.width;
  for (std::int64_t q = 0; q < tile.count(); ++q) {
    // So low that its exponential is 0.
    if (tile.hidden(q) > 0) fill(tile.scores_of(q), tile.hidden(q), -1e30F);
    factors[q] = soften(tile.scores_of(q), tile.tokens(q));
  }
  mix_tile(cache, tile);
  for (std::int64_t q = 0; q < tile.count(); ++q) {
    for_row(tile.head_dim, [&](std::int64_t i, std::int64_t some) PHYSARUM_INLINE_LAMBDA {
      store_up_to(tile.out(q) + i, some, load(tile.sums_of(q) + i) * splat(factors[q]));
    });
  }
}

inline void attend(const CacheShape& shape, const AttendRows& rows, float* scratch) {
  const std::int64_t group = shape.heads / shape.key_value_heads;
  const std::int64_t block = rows.first.first_seen() / cache_block_tokens;
  const std::int64_t begin = block * cache_block_tokens;
  const std::int64_t padded =
      round_up(rows.first.position + rows.count - begin, cache_block_tokens);
  for (std::int64_t kv = rows.first_group; kv < rows.first_group + rows.groups; ++kv) {
    const HeadCache cache{
        .blocks = rows.first.blocks + block,
        .offset = rows.first.layer * shape.layer_floats() + kv * shape.head_floats(),
        .values_at = shape.key_floats(),
        .head_dim = shape.head_dim,
        .value_width = shape.value_width()};
    attend_tile(cache, {.rows = rows,
                        .head = kv * group,
                        .group = group,
                        .head_dim = shape.head_dim,
                        .begin = begin,
                        .padded = padded,
                        .width = round_up(shape.value_width(), cache_block_tokens),
                        .scores = scratch,
                        .sums = scratch + rows.count * group * padded});
  }
}

}  // namespace physarum::model::PHYSARUM_KERNELS
