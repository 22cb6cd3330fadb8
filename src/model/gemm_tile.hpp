#pragma once

// Compiled once for each target: see simd.hpp.

#include "gemm_kernels.hpp"
#include "simd.hpp"
#ifdef __FMA__
#include <immintrin.h>
#endif

namespace physarum::model::PHYSARUM_KERNELS {

constexpr std::int64_t panel_columns = 2 * lanes;

/// a * b + c, rounded once where the target can: said by name, so that no compiler decides it
/// differently for tiles of different heights.
PHYSARUM_INLINE Float8 multiply_add(Float8 a, Float8 b, Float8 c) {
#ifdef __FMA__
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

/// `rows` rows by `panels` times 16 columns, y[r] = start[r] + sum over k of x[r, k] * panel[k].
/// `start` may be y.
template <int rows, int panels = 1>
PHYSARUM_INLINE void multiply_tile_rows(const PanelTask& task, const float* x, const float* panel,
                                        const float* start, std::int64_t start_stride, float* y,
                                        std::int64_t y_stride) {
  Float8 sums[rows][2 * panels];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < 2 * panels; ++v) sums[r][v] = load(start + r * start_stride + v * lanes);
  }
  for (std::int64_t k = 0; k < task.depth; ++k) {
    Float8 b[2 * panels];
#pragma GCC unroll 8
    for (int v = 0; v < 2 * panels; ++v) {
      b[v] = load(panel + v / 2 * task.panel_stride + v % 2 * lanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Float8 factor = splat(x[r * task.row_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < 2 * panels; ++v) sums[r][v] = multiply_add(factor, b[v], sums[r][v]);
    }
    panel += panel_columns;
    x += task.step;
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < 2 * panels; ++v) store(y + r * y_stride + v * lanes, sums[r][v]);
  }
}

inline void multiply_tile_of(std::int64_t rows, const PanelTask& task, const float* x,
                             const float* panel, const float* start, std::int64_t start_stride,
                             float* y, std::int64_t y_stride) {
  switch (rows) {
    case 1:
      return multiply_tile_rows<1>(task, x, panel, start, start_stride, y, y_stride);
    case 2:
      return multiply_tile_rows<2>(task, x, panel, start, start_stride, y, y_stride);
    case 3:
      return multiply_tile_rows<3>(task, x, panel, start, start_stride, y, y_stride);
    case 4:
      return multiply_tile_rows<4>(task, x, panel, start, start_stride, y, y_stride);
    case 5:
      return multiply_tile_rows<5>(task, x, panel, start, start_stride, y, y_stride);
    default:
      return multiply_tile_rows<6>(task, x, panel, start, start_stride, y, y_stride);
  }
}

/// A panel whose columns are not all there: computed beside the result and copied in part.
inline void multiply_edge_tile(std::int64_t rows, const PanelTask& task, const float* x,
                               const float* panel, const float* start, std::int64_t start_stride,
                               float* y, std::int64_t columns) {
  float beside[gemm_tile_rows * panel_columns] = {};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      beside[r * panel_columns + c] = start[r * start_stride + c];
    }
  }
  multiply_tile_of(rows, task, x, panel, beside, panel_columns, beside, panel_columns);
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
template <int panels>
PHYSARUM_INLINE TileStart start_of(const PanelTask& task, const float* y, std::int64_t column) {
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

inline void multiply_panel(const PanelTask& task, std::int64_t column, const float* panel) {
  const std::int64_t columns =
      task.columns - column < panel_columns ? task.columns - column : panel_columns;
  // The next panel comes from the second or third cache: each tile asks for its share of it.
  const std::int64_t tiles = (task.rows + gemm_tile_rows - 1) / gemm_tile_rows;
  const std::int64_t share = (task.depth + tiles - 1) / tiles * panel_columns;
  const bool last = column + panel_columns >= task.columns;
  const float* next = last ? task.panels : panel + task.panel_stride;
  for (std::int64_t row = 0; row < task.rows; row += gemm_tile_rows, next += share) {
    for (std::int64_t i = 0; i < share; i += panel_columns) __builtin_prefetch(next + i, 0, 3);
    const std::int64_t left = task.rows - row;
    const std::int64_t rows = left < gemm_tile_rows ? left : gemm_tile_rows;
    const float* x = task.x + row / gemm_tile_rows * task.tile_stride;
    float* y = task.y + row * task.y_stride + column;
    const TileStart start = start_of<1>(task, y, column);
    if (columns == panel_columns) {
      multiply_tile_of(rows, task, x, panel, start.at, start.stride, y, task.y_stride);
    } else {
      multiply_edge_tile(rows, task, x, panel, start.at, start.stride, y, columns);
    }
  }
}

/// Few rows have too few sums to hide the latency of a multiply-add; they take `panels` panels at
/// once. Returns the first column that is left.
template <int rows, int panels>
inline std::int64_t multiply_wide(const PanelTask& task) {
  std::int64_t column = 0;
  for (; column + panels * panel_columns <= task.columns; column += panels * panel_columns) {
    float* y = task.y + column;
    const float* panel = task.panels + column / panel_columns * task.panel_stride;
    const TileStart start = start_of<panels>(task, y, column);
    multiply_tile_rows<rows, panels>(task, task.x, panel, start.at, start.stride, y, task.y_stride);
  }
  return column;
}

inline std::int64_t multiply_few_rows(const PanelTask& task) {
  switch (task.rows) {
    case 1:
      return multiply_wide<1, 4>(task);
    case 2:
      return multiply_wide<2, 3>(task);
    case 3:
      return multiply_wide<3, 2>(task);
    default:
      return 0;
  }
}

/// Panel by panel, so that a panel stays in the first cache while all rows pass it.
inline void multiply_panels(const PanelTask& task) {
  for (std::int64_t column = multiply_few_rows(task); column < task.columns;
       column += panel_columns) {
    multiply_panel(task, column, task.panels + column / panel_columns * task.panel_stride);
  }
}

}  // namespace physarum::model::PHYSARUM_KERNELS
