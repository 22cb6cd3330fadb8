#include "physarum/model/gemm.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "gemm_kernels.hpp"

namespace physarum::model {

namespace {
// 256 values of 16 columns are 16 KiB, half of the first cache; 256 values of 192 rows are 192 KiB,
// part of the second.
constexpr std::int64_t depth_block = 256;
constexpr std::int64_t row_block = 192;

std::int64_t padded_out(std::int64_t out) {
  constexpr auto width = PackedMatrix::panel_width;
  return (out + width - 1) / width * width;
}
}  // namespace

PackedMatrix::PackedMatrix(std::int64_t out, std::int64_t in)
    : out_(out), in_(in), panels_(padded_out(out) * in) {}

void PackedMatrix::pack(std::int64_t first, std::int64_t rows, const float* weights,
                        std::int64_t stride) {
  base::expects(first >= 0 && rows >= 0 && first + rows <= out_, "pack: rows beyond the matrix");
  // Whole panels go fast. The rest goes row by row: other rows of its panel may be there already.
  const std::int64_t whole = first % panel_width == 0 ? rows / panel_width * panel_width : 0;
  if (whole > 0) {
    gemm_kernels().interleave_right({weights, stride, 1, whole, in_}, panels_.data() + first * in_);
  }
  for (std::int64_t row = first + whole; row < first + rows; ++row) {
    float* to = panels_.data() + row / panel_width * panel_width * in_ + row % panel_width;
    const float* from = weights + (row - first) * stride;
    for (std::int64_t k = 0; k < in_; ++k) to[k * panel_width] = from[k];
  }
}

void PackedMatrix::pack_transposed(std::int64_t first, std::int64_t columns, const float* weights,
                                   std::int64_t stride) {
  base::expects(first >= 0 && columns >= 0 && first + columns <= in_,
                "pack_transposed: columns beyond the matrix");
  const std::int64_t whole = out_ / panel_width * panel_width;
  for (std::int64_t row = 0; row < whole; row += panel_width) {
    gemm_kernels().interleave_right({weights + row, 1, stride, panel_width, columns},
                                    panels_.data() + row * in_ + first * panel_width);
  }
  for (std::int64_t k = 0; k < columns; ++k) {
    std::copy_n(weights + k * stride + whole, out_ - whole,
                panels_.data() + whole * in_ + (first + k) * panel_width);
  }
}

void multiply_packed(InputRows x, const PackedMatrix& w, OutputRows y, Update update,
                     const float* bias) {
  base::expects(bias == nullptr || update == Update::replace, "a bias replaces the old result");
  const SumStart first = update == Update::add ? SumStart::result
                         : bias != nullptr     ? SumStart::bias
                                               : SumStart::zero;
  for (std::int64_t row = 0; row < x.count; row += row_block) {
    for (std::int64_t k = 0; k < w.in(); k += depth_block) {
      gemm_kernels().multiply_panels({.x = x.at + row * x.stride + k,
                                      .rows = std::min(row_block, x.count - row),
                                      .tile_stride = gemm_tile_rows * x.stride,
                                      .row_stride = x.stride,
                                      .step = 1,
                                      .panels = w.panel(0) + k * PackedMatrix::panel_width,
                                      .panel_stride = w.in() * PackedMatrix::panel_width,
                                      .columns = w.out(),
                                      .depth = std::min(depth_block, w.in() - k),
                                      .start = k == 0 ? first : SumStart::result,
                                      .bias = bias,
                                      .y = y.at + row * y.stride,
                                      .y_stride = y.stride});
    }
  }
}

}  // namespace physarum::model
