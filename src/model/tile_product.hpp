#pragma once

// Compiled once for each target: see simd.hpp.

#include "simd.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

constexpr std::int64_t tile_rows = 4;
constexpr std::int64_t tile_columns = 16;  // eight accumulators: as many as hide the latency of FMA

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

template <Store store_kind>
PHYSARUM_INLINE void multiply_tile(Left a, const float* b, std::int64_t b_step, std::int64_t depth,
                                   Out c) {
  // Unrolled by name: early enough for the sums to live in registers from the start.
  Float8 sums[tile_rows][2];
#pragma GCC unroll 4
  for (int m = 0; m < tile_rows; ++m) {
    sums[m][0] = store_kind == Store::add ? load(c.at + m * c.row) : splat(0.0F);
    sums[m][1] = store_kind == Store::add ? load(c.at + m * c.row + lanes) : splat(0.0F);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const Float8 b0 = load(b + k * b_step);
    const Float8 b1 = load(b + k * b_step + lanes);
#pragma GCC unroll 4
    for (int m = 0; m < tile_rows; ++m) {
      const Float8 factor = splat(a.at[m * a.row + k * a.step]);
      sums[m][0] += factor * b0;
      sums[m][1] += factor * b1;
    }
  }
#pragma GCC unroll 4
  for (int m = 0; m < tile_rows; ++m) {
    store(c.at + m * c.row, sums[m][0]);
    store(c.at + m * c.row + lanes, sums[m][1]);
  }
}

/// c (+)= a b for `rows` (a multiple of 4) and `columns` (a multiple of 16), each sum over `depth`.
template <Store store_kind>
inline void multiply(std::int64_t rows, std::int64_t columns, std::int64_t depth, Left a, Right b,
                     Out c) {
  for (std::int64_t m = 0; m < rows; m += tile_rows) {
    for (std::int64_t n = 0; n < columns; n += tile_columns) {
      const float* panel = b.at + n / tile_columns * b.panel;
      multiply_tile<store_kind>({a.at + m * a.row, a.row, a.step}, panel, b.step, depth,
                                {c.at + m * c.row + n, c.row});
    }
  }
}

}  // namespace physarum::model::PHYSARUM_KERNELS
