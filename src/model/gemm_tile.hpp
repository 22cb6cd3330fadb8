#pragma once

// Compiled once for each target: see simd.hpp.

#include "gemm_kernels.hpp"
#include "simd.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

constexpr std::int64_t panel_vectors = panel_columns / lanes;
constexpr int strip_panels = lanes == 16 ? 3 : 1;

PHYSARUM_INLINE Floats load_weights(const float* from) { return load(from); }
/// From bf16, exact. By name where one instruction widens a vector: compilers make several of it.
PHYSARUM_INLINE Floats load_weights(const std::uint16_t* from) {
  using Halves = std::uint16_t __attribute__((vector_size(2 * lanes)));
  Halves halves;
  std::memcpy(&halves, from, sizeof halves);
#if defined(__AVX512F__)
  const Ints wide = (Ints)_mm512_maskz_cvtepu16_epi32(0xFFFF, (__m256i)halves);
#elif defined(__AVX2__)
  const Ints wide = (Ints)_mm256_cvtepu16_epi32((__m128i)halves);
#else
  const Ints wide = __builtin_convertvector(halves, Ints);
#endif
  const Ints bits = wide << 16;
  Floats v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

/// Most rows that are computed together: with 32 registers more than interleave_left() puts into a
/// tile, where rows lie as in a matrix.
constexpr std::int64_t most_tile_rows = lanes == 16 ? 8 : gemm_tile_rows;

/// Weights that will be needed soon, to be fetched while a tile is computed, a little in every step
/// of the depth; all at once they would hold up the tile. A strip that only one tile needs is part
/// of one stream, and each step fetches what some steps later will take. Where several tiles share
/// a strip, it is in the first cache after the first tile: each tile fetches its share of the next
/// strip, a piece for each of its panels.
struct Ahead {
  const char* at = nullptr;
  std::int64_t piece_bytes = 0;  ///< from one piece to the next
  std::int64_t step_bytes = 0;
};

/// `rows` rows by `panels` times 16 columns, y[r] = start[r] + sum over k of x[r, k] * weights[k].
/// The sum starts at 0: started at a large residual, every step would round at its magnitude.
/// `start` may be y. `asks` for what is ahead. `keeps`: the weights, as floats, also go to `kept`
/// [depth, panels * 16].
template <int rows, int panels, bool keeps = false, class Weight>
PHYSARUM_INLINE void multiply_tile_rows(const StripTaskOf<Weight>& task, const float* x,
                                        const Weight* weights, const float* start,
                                        std::int64_t start_stride, float* y, std::int64_t y_stride,
                                        Ahead ahead, float* kept = nullptr) {
  constexpr int vectors = panels * panel_vectors;
  Floats sums[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      sums[r][v] = splat(0.0F);
      // The result is often as far as the third cache; it has come by the time it is needed.
      __builtin_prefetch(y + r * y_stride + v * lanes, 1, 3);
    }
  }
  for (std::int64_t k = 0; k < task.depth; ++k) {
    Floats b[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      b[v] = load_weights(weights + v * lanes);
      if constexpr (keeps) store(kept + v * lanes, b[v]);
    }
    if constexpr (keeps) kept += vectors * lanes;
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Floats factor = splat(x[r * task.row_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sums[r][v] = multiply_add(factor, b[v], sums[r][v]);
    }
#pragma GCC unroll 8
    for (int p = 0; p < panels; ++p) __builtin_prefetch(ahead.at + p * ahead.piece_bytes, 0, 3);
    ahead.at += ahead.step_bytes;
    weights += task.width;
    x += task.step;
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      store(y + r * y_stride + v * lanes, load(start + r * start_stride + v * lanes) + sums[r][v]);
    }
  }
}

template <int panels, class Weight>
inline void multiply_tile_of(std::int64_t rows, const StripTaskOf<Weight>& task, const float* x,
                             const Weight* weights, const float* start, std::int64_t start_stride,
                             float* y, std::int64_t y_stride, Ahead ahead) {
  const auto multiply = [&](auto count) PHYSARUM_INLINE_LAMBDA {
    multiply_tile_rows<count(), panels>(task, x, weights, start, start_stride, y, y_stride, ahead);
  };
  switch (rows) {
    case 1:
      return multiply(std::integral_constant<int, 1>{});
    case 2:
      return multiply(std::integral_constant<int, 2>{});
    case 3:
      return multiply(std::integral_constant<int, 3>{});
    case 4:
      return multiply(std::integral_constant<int, 4>{});
    case 5:
      return multiply(std::integral_constant<int, 5>{});
    case 6:
      return multiply(std::integral_constant<int, 6>{});
    default:
      if constexpr (most_tile_rows > gemm_tile_rows) {
        return rows == 7 ? multiply(std::integral_constant<int, 7>{})
                         : multiply(std::integral_constant<int, 8>{});
      }
  }
}

/// A panel whose columns are not all there: computed beside the result and copied in part.
template <class Weight>
inline void multiply_edge_tile(std::int64_t rows, const StripTaskOf<Weight>& task, const float* x,
                               const Weight* weights, const float* start, std::int64_t start_stride,
                               float* y, std::int64_t columns) {
  float beside[most_tile_rows * panel_columns] = {};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      beside[r * panel_columns + c] = start[r * start_stride + c];
    }
  }
  multiply_tile_of<1>(rows, task, x, weights, beside, panel_columns, beside, panel_columns,
                      {reinterpret_cast<const char*>(weights), 0, 0});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      y[r * task.y_stride + c] = beside[r * panel_columns + c];
    }
  }
}

/// Where the sums of a tile start, and how far its rows are apart there.
struct TileStart {
  const float* at;
  std::int64_t stride;
};
template <int panels, class Weight>
PHYSARUM_INLINE TileStart start_of(const StripTaskOf<Weight>& task, const float* y,
                                   std::int64_t column) {
  static constexpr float zeros[panels * panel_columns] = {};
  switch (task.start) {
    case SumStart::zero:
      return {zeros, 0};
    case SumStart::bias:
      return {task.bias + column, 0};
    default:
      return {y, task.y_stride};
  }
}

/// What one of several tiles, in depth or side by side, fetches for the panels at `column`.
template <class Weight>
PHYSARUM_INLINE Ahead next_panels(const StripTaskOf<Weight>& task, std::int64_t column) {
  constexpr std::int64_t step = panel_columns * sizeof(Weight);
  return {reinterpret_cast<const char*>(task.next + column * task.depth), task.depth * step, step};
}

/// What the only tile of a strip fetches. So far ahead, one row reads memory as fast as a plain
/// loop does, and eight rows take two thirds of the time that they take without.
template <class Weight>
PHYSARUM_INLINE Ahead further_on(const StripTaskOf<Weight>& task, const Weight* weights) {
  constexpr std::int64_t stream_bytes = 8192;
  constexpr std::int64_t line_bytes = 64;
  constexpr std::int64_t size = sizeof(Weight);
  return {reinterpret_cast<const char*>(weights) + stream_bytes, line_bytes, task.width * size};
}

/// Rows of a tile: as many as the registers hold, or so many that few rows make equal tiles.
template <class Weight>
PHYSARUM_INLINE std::int64_t rows_of_tile(const StripTaskOf<Weight>& task) {
  if (task.step != 1) return gemm_tile_rows;
  const bool two = task.rows > most_tile_rows && task.rows < 2 * most_tile_rows;
  return two ? (task.rows + 1) / 2 : most_tile_rows;
}

/// `panels` panels, all of whose columns are there unless it is one. `ahead`: for all tiles.
template <int panels, class Weight>
inline void multiply_tiles(const StripTaskOf<Weight>& task, std::int64_t column, Ahead ahead) {
  constexpr std::int64_t width = panels * panel_columns;
  const Weight* weights = task.weights + column;
  const std::int64_t columns = task.columns - column < width ? task.columns - column : width;
  const std::int64_t most = rows_of_tile(task);
  // Each tile asks for its share of what comes next.
  const std::int64_t tiles = (task.rows + most - 1) / most;
  ahead.step_bytes = (ahead.step_bytes + tiles - 1) / tiles;
  if (tiles == 1 && width == task.width) ahead = further_on(task, weights);
  for (std::int64_t row = 0; row < task.rows; row += most) {
    const std::int64_t left = task.rows - row;
    const std::int64_t rows = left < most ? left : most;
    const float* x =
        task.x + (task.step == 1 ? row * task.row_stride : row / gemm_tile_rows * task.tile_stride);
    float* y = task.y + row * task.y_stride + column;
    const TileStart start = start_of<panels>(task, y, column);
    if (columns == width) {
      multiply_tile_of<panels>(rows, task, x, weights, start.at, start.stride, y, task.y_stride,
                               ahead);
    } else {
      multiply_edge_tile(rows, task, x, weights, start.at, start.stride, y, columns);
    }
    ahead.at += task.depth * ahead.step_bytes;
  }
}

/// The first rows, as many as a tile has. The weights that they load they keep for the others.
template <int panels>
inline void multiply_first_rows(const HalfStripTask& task, std::int64_t column, Ahead ahead,
                                float* kept) {
  float* y = task.y + column;
  const TileStart start = start_of<panels>(task, y, column);
  multiply_tile_rows<most_tile_rows, panels, true>(task, task.x, task.weights + column, start.at,
                                                   start.stride, y, task.y_stride, ahead, kept);
}

/// The same for one panel where not all columns are there, and all rows are still to come.
inline void keep_panel(const HalfStripTask& task, std::int64_t column, float* kept) {
  for (std::int64_t k = 0; k < task.depth; ++k) {
    for (std::int64_t i = 0; i < panel_columns; i += lanes) {
      store(kept + k * panel_columns + i, load_weights(task.weights + k * task.width + column + i));
    }
  }
}

/// More rows of a matrix than a tile has: the weights are made floats once, in the first cache.
template <int panels>
inline void multiply_long_tiles(const HalfStripTask& task, std::int64_t column) {
  alignas(64) float kept[panels * panel_columns * gemm_depth];
  constexpr std::int64_t width = panels * panel_columns;
  Ahead ahead = next_panels(task, column);
  const bool whole = column + width <= task.columns;
  const std::int64_t done = whole ? most_tile_rows : 0;
  if (whole) {
    const std::int64_t tiles = (task.rows + most_tile_rows - 1) / most_tile_rows;
    // One tile behind the first would not ask for anything.
    const std::int64_t share =
        tiles == 2 ? ahead.step_bytes : (ahead.step_bytes + tiles - 1) / tiles;
    multiply_first_rows<panels>(task, column, {ahead.at, ahead.piece_bytes, share}, kept);
    ahead.at += task.depth * share;
    ahead.step_bytes -= share;
  } else {
    keep_panel(task, column, kept);
  }
  multiply_tiles<panels, float>({.x = task.x + done * task.row_stride,
                                 .rows = task.rows - done,
                                 .tile_stride = task.tile_stride,
                                 .row_stride = task.row_stride,
                                 .step = task.step,
                                 .weights = kept,
                                 .width = width,
                                 .next = kept,
                                 .columns = whole ? width : task.columns - column,
                                 .depth = task.depth,
                                 .start = task.start,
                                 .bias = task.bias == nullptr ? nullptr : task.bias + column,
                                 .y = task.y + done * task.y_stride + column,
                                 .y_stride = task.y_stride},
                                0, ahead);
}

template <int panels, class Weight>
inline void multiply_next_panels(const StripTaskOf<Weight>& task, std::int64_t column) {
  if constexpr (sizeof(Weight) < sizeof(float)) {
    if (task.rows > most_tile_rows) return multiply_long_tiles<panels>(task, column);
  }
  multiply_tiles<panels>(task, column, next_panels(task, column));
}

/// From `column` on, `wide` panels at a time, then fewer.
template <int wide, class Weight>
inline void multiply_from(const StripTaskOf<Weight>& task, std::int64_t column) {
  constexpr std::int64_t width = wide * panel_columns;
  for (; column + width <= task.columns; column += width) multiply_next_panels<wide>(task, column);
  if constexpr (wide > 1) return multiply_from<wide - 1>(task, column);
  if (column < task.columns) multiply_next_panels<1>(task, column);
}

/// Few rows have too few sums to hide the latency of a multiply-add; they take more panels at once
/// than the registers would hold of many.
template <class Weight>
inline void multiply_whole_strip(const StripTaskOf<Weight>& task) {
  if (lanes < 16 && task.rows <= 2) return multiply_from<3>(task, 0);
  if (lanes < 16 && task.rows == 3) return multiply_from<2>(task, 0);
  multiply_from<strip_panels>(task, 0);
}

}  // namespace physarum::model::PHYSARUM_KERNELS
