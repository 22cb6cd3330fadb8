#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "physarum/model/gemm.hpp"

#include "gemm_kernels.hpp"

namespace physarum::model {

namespace {
constexpr auto panel_width = PackedMatrix::panel_width;
constexpr std::int64_t tiled_rows = 32 * gemm_tile_rows;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// The strips of a product's columns, one after the other.
struct Strip {
  std::int64_t all_columns;
  std::int64_t column = 0;

  void next() { column += gemm_strip_columns; }
  [[nodiscard]] std::int64_t columns() const {
    return std::min(gemm_strip_columns, all_columns - column);
  }
  [[nodiscard]] std::int64_t width() const { return gemm_strip_width(all_columns, column); }
};
}  // namespace

float* GemmWorkspace::left(std::int64_t size) {
  left_.reserve(size);
  return left_.data();
}

float* GemmWorkspace::right(std::int64_t size) {
  right_.reserve(size);
  return right_.data();
}

void multiply_general(const ProductSize& size, Factor a, Factor b, OutputRows c, Update update,
                      GemmWorkspace& workspace) {
  base::expects(size.rows >= 0 && size.columns >= 0 && size.depth >= 1, "a product without depth");
  float* strips = workspace.right(round_up(size.columns, panel_width) * gemm_depth);
  float* tiles = workspace.left(tiled_rows * gemm_depth + interleave_slack);
  // A row-major left factor is read where it is; another one is put into tiles first.
  const bool in_place = a.column_stride == 1 && a.row_stride < 1024 && size.columns <= 256;
  for (std::int64_t k = 0; k < size.depth; k += gemm_depth) {
    const std::int64_t depth = std::min(gemm_depth, size.depth - k);
    const auto strip_at = [&](std::int64_t column) {
      return strips + (column < size.columns ? column : 0) * depth;
    };
    for (Strip strip{size.columns}; strip.column < size.columns; strip.next()) {
      gemm_kernels().interleave_right({b.at + k * b.row_stride + strip.column * b.column_stride,
                                       b.column_stride, b.row_stride, strip.columns(), depth},
                                      strip_at(strip.column), strip.width());
    }
    for (std::int64_t row = 0; row < size.rows; row += tiled_rows) {
      const std::int64_t rows = std::min(tiled_rows, size.rows - row);
      const float* left = a.at + row * a.row_stride + k * a.column_stride;
      if (!in_place) {
        gemm_kernels().interleave_left({left, a.row_stride, a.column_stride, rows, depth}, tiles);
      }
      for (Strip strip{size.columns}; strip.column < size.columns; strip.next()) {
        gemm_kernels().multiply_strip(
            {.x = in_place ? left : tiles,
             .rows = rows,
             .tile_stride = gemm_tile_rows * (in_place ? a.row_stride : depth),
             .row_stride = in_place ? a.row_stride : 1,
             .step = in_place ? 1 : gemm_tile_rows,
             .weights = strip_at(strip.column),
             .width = strip.width(),
             .next = strip_at(strip.column + gemm_strip_columns),
             .columns = strip.columns(),
             .depth = depth,
             .start = k == 0 && update == Update::replace ? SumStart::zero : SumStart::result,
             .bias = nullptr,
             .y = c.at + row * c.stride + strip.column,
             .y_stride = c.stride});
      }
    }
  }
}

}  // namespace physarum::model
