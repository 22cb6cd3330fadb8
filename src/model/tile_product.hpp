#pragma once

// Compiled once for each target: see simd.hpp.

#include "simd.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

constexpr std::int64_t tile_columns = 16;
constexpr std::int64_t tile_vectors = tile_columns / lanes;
// Eight sums or more hide the latency of FMA; the wide registers are twice as many, too.
constexpr std::int64_t tile_rows = lanes == 16 ? 8 : 4;
constexpr std::int64_t wide_panels = lanes == 16 ? 2 : 1;

/// Element (m, k) of the left factor is at[m * row + k * step]; steps of any kind, so a transposed
/// matrix is one with row and step exchanged.
struct Left {
  const float* at;
  std::int64_t row;
  std::int64_t step;
};

/// Columns [16 p, 16 p + 16) of row k of the right factor are at[p * panel + k * step ...].
struct Right {
  const float* at;
  std::int64_t panel;
  std::int64_t step;
};

struct Out {
  float* at;
  std::int64_t row;
};

enum class Store { replace, add };

/// `panels` panels side by side.
template <Store store_kind, std::int64_t panels>
PHYSARUM_INLINE void multiply_tile(Left a, Right b, std::int64_t depth, Out c) {
  constexpr std::int64_t vectors = panels * tile_vectors;
  // Unrolled by name: early enough for the sums to live in registers from the start.
  Floats sums[tile_rows][vectors];
#pragma GCC unroll 8
  for (int m = 0; m < tile_rows; ++m) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      sums[m][v] = store_kind == Store::add ? load(c.at + m * c.row + v * lanes) : splat(0.0F);
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    Floats right[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      right[v] = load(b.at + v / tile_vectors * b.panel + k * b.step + v % tile_vectors * lanes);
    }
#pragma GCC unroll 8
    for (int m = 0; m < tile_rows; ++m) {
      const Floats factor = splat(a.at[m * a.row + k * a.step]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[m][v] = multiply_add(factor, right[v], sums[m][v]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < tile_rows; ++m) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) store(c.at + m * c.row + v * lanes, sums[m][v]);
  }
}

/// Columns from `column` on as far as they fill `panels` panels; returns the first that is left.
template <Store store_kind, std::int64_t panels>
PHYSARUM_INLINE std::int64_t multiply_columns(std::int64_t column, std::int64_t rows,
                                              std::int64_t columns, std::int64_t depth, Left a,
                                              Right b, Out c) {
  constexpr std::int64_t width = panels * tile_columns;
  for (; column + width <= columns; column += width) {
    const Right panel{b.at + column / tile_columns * b.panel, b.panel, b.step};
    for (std::int64_t m = 0; m < rows; m += tile_rows) {
      multiply_tile<store_kind, panels>({a.at + m * a.row, a.row, a.step}, panel, depth,
                                        {c.at + m * c.row + column, c.row});
    }
  }
  return column;
}

/// c (+)= a b for `rows` and `columns` (multiples of 16), each sum over `depth`.
template <Store store_kind>
inline void multiply(std::int64_t rows, std::int64_t columns, std::int64_t depth, Left a, Right b,
                     Out c) {
  std::int64_t column = 0;
  if constexpr (wide_panels > 1) {
    column = multiply_columns<store_kind, wide_panels>(column, rows, columns, depth, a, b, c);
  }
  multiply_columns<store_kind, 1>(column, rows, columns, depth, a, b, c);
}

}  // namespace physarum::model::PHYSARUM_KERNELS
