#pragma once

// Compiled once for each target: see simd.hpp.

#include "gemm_kernels.hpp"
#include "simd.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

constexpr std::int64_t panel_columns = 16;
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

/// So few rows take more panels at once, as streams that the processor foresees by itself.
constexpr int most_wide_rows = 3;

/// Weights that will be needed next come from the second or third cache, or from memory. A line of
/// each panel is asked for in every step of the depth; all at once they would hold up the tile.
struct Ahead {
  const char* at = nullptr;
  std::int64_t panel_bytes = 0;  ///< from one panel to the next
  std::int64_t step_bytes = 0;
};

/// `rows` rows by `panels` times 16 columns, y[r] = start[r] + sum over k of x[r, k] * panel[k].
/// The sum starts at 0: started at a large residual, every step would round at its magnitude.
/// `start` may be y. `keeps`: the weights, as floats, also go to `kept` [panels, depth, 16].
template <int rows, int panels, bool keeps = false, class Weight>
PHYSARUM_INLINE void multiply_tile_rows(const PanelTaskOf<Weight>& task, const float* x,
                                        const Weight* panel, const float* start,
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
      b[v] =
          load_weights(panel + v / panel_vectors * task.panel_stride + v % panel_vectors * lanes);
      if constexpr (keeps) {
        store(kept + v / panel_vectors * panel_columns * task.depth + v % panel_vectors * lanes,
              b[v]);
      }
    }
    if constexpr (keeps) kept += panel_columns;
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Floats factor = splat(x[r * task.row_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sums[r][v] = multiply_add(factor, b[v], sums[r][v]);
    }
    if constexpr (rows > most_wide_rows) {
#pragma GCC unroll 8
      for (int p = 0; p < panels; ++p) __builtin_prefetch(ahead.at + p * ahead.panel_bytes, 0, 3);
      ahead.at += ahead.step_bytes;
    }
    panel += panel_columns;
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
inline void multiply_tile_of(std::int64_t rows, const PanelTaskOf<Weight>& task, const float* x,
                             const Weight* panel, const float* start, std::int64_t start_stride,
                             float* y, std::int64_t y_stride, Ahead ahead) {
  switch (rows) {
    case 1:
      return multiply_tile_rows<1, panels>(task, x, panel, start, start_stride, y, y_stride, ahead);
    case 2:
      return multiply_tile_rows<2, panels>(task, x, panel, start, start_stride, y, y_stride, ahead);
    case 3:
      return multiply_tile_rows<3, panels>(task, x, panel, start, start_stride, y, y_stride, ahead);
    case 4:
      return multiply_tile_rows<4, panels>(task, x, panel, start, start_stride, y, y_stride, ahead);
    case 5:
      return multiply_tile_rows<5, panels>(task, x, panel, start, start_stride, y, y_stride, ahead);
    default:
      return multiply_tile_rows<6, panels>(task, x, panel, start, start_stride, y, y_stride, ahead);
  }
}

/// A panel whose columns are not all there: computed beside the result and copied in part.
template <class Weight>
inline void multiply_edge_tile(std::int64_t rows, const PanelTaskOf<Weight>& task, const float* x,
                               const Weight* panel, const float* start, std::int64_t start_stride,
                               float* y, std::int64_t columns) {
  float beside[gemm_tile_rows * panel_columns] = {};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      beside[r * panel_columns + c] = start[r * start_stride + c];
    }
  }
  multiply_tile_of<1>(rows, task, x, panel, beside, panel_columns, beside, panel_columns,
                      {reinterpret_cast<const char*>(panel), 0, 0});
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
PHYSARUM_INLINE TileStart start_of(const PanelTaskOf<Weight>& task, const float* y,
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

/// The strip behind that of `column`, or the first one, for which the next rows come.
template <int panels, class Weight>
PHYSARUM_INLINE Ahead strip_after(const PanelTaskOf<Weight>& task, std::int64_t column) {
  const std::int64_t next = column + panels * panel_columns;
  const std::int64_t index = next < task.columns ? next / panel_columns : 0;
  constexpr std::int64_t size = sizeof(Weight);
  return {reinterpret_cast<const char*>(task.panels + index * task.panel_stride),
          task.panel_stride * size, panel_columns * size};
}

/// `panels` panels, all of whose columns are there unless it is one. `ahead`: a whole strip.
template <int panels, class Weight>
inline void multiply_strip(const PanelTaskOf<Weight>& task, std::int64_t column, Ahead ahead) {
  constexpr std::int64_t width = panels * panel_columns;
  const Weight* panel = task.panels + column / panel_columns * task.panel_stride;
  const std::int64_t columns = task.columns - column < width ? task.columns - column : width;
  // Each tile asks for its share of what comes next.
  const std::int64_t tiles = (task.rows + gemm_tile_rows - 1) / gemm_tile_rows;
  ahead.step_bytes = (ahead.step_bytes + tiles - 1) / tiles;
  for (std::int64_t row = 0; row < task.rows; row += gemm_tile_rows) {
    const std::int64_t left = task.rows - row;
    const std::int64_t rows = left < gemm_tile_rows ? left : gemm_tile_rows;
    const float* x = task.x + row / gemm_tile_rows * task.tile_stride;
    float* y = task.y + row * task.y_stride + column;
    const TileStart start = start_of<panels>(task, y, column);
    if (columns == width) {
      multiply_tile_of<panels>(rows, task, x, panel, start.at, start.stride, y, task.y_stride,
                               ahead);
    } else {
      multiply_edge_tile(rows, task, x, panel, start.at, start.stride, y, columns);
    }
    ahead.at += task.depth * ahead.step_bytes;
  }
}

/// The first rows of a strip, as many as a tile has. What they load they keep for the others.
template <int panels>
inline void multiply_first_rows(const HalfPanelTask& task, std::int64_t column, Ahead ahead,
                                float* kept) {
  const std::uint16_t* panel = task.panels + column / panel_columns * task.panel_stride;
  float* y = task.y + column;
  const TileStart start = start_of<panels>(task, y, column);
  multiply_tile_rows<gemm_tile_rows, panels, true>(task, task.x, panel, start.at, start.stride, y,
                                                   task.y_stride, ahead, kept);
}

/// The same where not all columns are there, and all rows are still to come.
inline void keep_strip(const HalfPanelTask& task, std::int64_t column, float* kept) {
  const std::uint16_t* panel = task.panels + column / panel_columns * task.panel_stride;
  for (std::int64_t i = 0; i < panel_columns * task.depth; i += lanes) {
    store(kept + i, load_weights(panel + i));
  }
}

/// More rows than a tile has: the weights are made floats once, in the first cache.
template <int panels>
inline void multiply_long_strip(const HalfPanelTask& task, std::int64_t column) {
  alignas(64) float strip[panels * panel_columns * gemm_depth];
  constexpr std::int64_t width = panels * panel_columns;
  Ahead ahead = strip_after<panels>(task, column);
  const bool whole = column + width <= task.columns;
  const std::int64_t done = whole ? gemm_tile_rows : 0;
  if (whole) {
    const std::int64_t tiles = (task.rows + gemm_tile_rows - 1) / gemm_tile_rows;
    const std::int64_t share = (ahead.step_bytes + tiles - 1) / tiles;
    multiply_first_rows<panels>(task, column, {ahead.at, ahead.panel_bytes, share}, strip);
    ahead.at += task.depth * share;
    ahead.step_bytes -= share;
  } else {
    keep_strip(task, column, strip);
  }
  multiply_strip<panels, float>({.x = task.x + done / gemm_tile_rows * task.tile_stride,
                                 .rows = task.rows - done,
                                 .tile_stride = task.tile_stride,
                                 .row_stride = task.row_stride,
                                 .step = task.step,
                                 .panels = strip,
                                 .panel_stride = panel_columns * task.depth,
                                 .columns = whole ? width : task.columns - column,
                                 .depth = task.depth,
                                 .start = task.start,
                                 .bias = task.bias == nullptr ? nullptr : task.bias + column,
                                 .y = task.y + done * task.y_stride + column,
                                 .y_stride = task.y_stride},
                                0, ahead);
}
template <int panels, class Weight>
inline void multiply_next_strip(const PanelTaskOf<Weight>& task, std::int64_t column) {
  if constexpr (sizeof(Weight) < sizeof(float)) {
    if (task.rows > gemm_tile_rows) return multiply_long_strip<panels>(task, column);
  }
  multiply_strip<panels>(task, column, strip_after<panels>(task, column));
}

/// All rows at once, `panels` panels at a time. Returns the first column that is left.
template <int rows, int panels, class Weight>
inline std::int64_t multiply_wide(const PanelTaskOf<Weight>& task) {
  std::int64_t column = 0;
  for (; column + panels * panel_columns <= task.columns; column += panels * panel_columns) {
    float* y = task.y + column;
    const Weight* panel = task.panels + column / panel_columns * task.panel_stride;
    const TileStart start = start_of<panels>(task, y, column);
    multiply_tile_rows<rows, panels>(task, task.x, panel, start.at, start.stride, y, task.y_stride,
                                     Ahead{});
  }
  return column;
}

/// Few rows have too few sums to hide the latency of a multiply-add; they take more panels at once.
template <class Weight>
inline std::int64_t multiply_few_rows(const PanelTaskOf<Weight>& task) {
  constexpr int by_lanes = lanes / 8;
  switch (task.rows) {
    case 1:
      return multiply_wide<1, 4 * by_lanes>(task);
    case 2:
      return multiply_wide<2, 3 * by_lanes>(task);
    case 3:
      return multiply_wide<3, 2 * by_lanes>(task);
    default:
      return 0;
  }
}

/// From `column` on, `wide` panels at a time, then fewer.
template <int wide, class Weight>
inline void multiply_strips(const PanelTaskOf<Weight>& task, std::int64_t column) {
  constexpr std::int64_t width = wide * panel_columns;
  for (; column + width <= task.columns; column += width) multiply_next_strip<wide>(task, column);
  if constexpr (wide > 1) return multiply_strips<wide - 1>(task, column);
  if (column < task.columns) multiply_next_strip<1>(task, column);
}

/// Strip by strip, so that a strip stays in the first cache while all rows pass it.
template <class Weight>
inline void multiply_panels(const PanelTaskOf<Weight>& task) {
  multiply_strips<strip_panels>(task, multiply_few_rows(task));
}

}  // namespace physarum::model::PHYSARUM_KERNELS
