#include "physarum/model/gemm.hpp"

#include <algorithm>
#include <bit>

#include "physarum/base/contracts.hpp"

#include "gemm_kernels.hpp"

namespace physarum::model {

namespace {
// 256 values of 192 rows are 192 KiB, part of the second cache.
constexpr std::int64_t row_block = 192;

std::int64_t padded_out(std::int64_t out) {
  constexpr auto width = PackedMatrix::panel_width;
  return (out + width - 1) / width * width;
}

/// Exact: the values have no more than 8 bits.
void to_halves(const float* from, std::int64_t count, std::uint16_t* to) {
  std::uint32_t lost = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    to[i] = static_cast<std::uint16_t>(bits >> 16);
    lost |= bits & 0xFFFFU;
  }
  base::expects(lost == 0, "weights that bf16 does not hold exactly");
}

template <class Weight>
void multiply_blocks(InputRows x, const Weight* panels, std::int64_t depth, std::int64_t columns,
                     OutputRows y, SumStart first, const float* bias,
                     void (*multiply)(const PanelTaskOf<Weight>&)) {
  for (std::int64_t row = 0; row < x.count; row += row_block) {
    for (std::int64_t k = 0; k < depth; k += gemm_depth) {
      multiply({.x = x.at + row * x.stride + k,
                .rows = std::min(row_block, x.count - row),
                .tile_stride = gemm_tile_rows * x.stride,
                .row_stride = x.stride,
                .step = 1,
                .panels = panels + k * PackedMatrix::panel_width,
                .panel_stride = depth * PackedMatrix::panel_width,
                .columns = columns,
                .depth = std::min(gemm_depth, depth - k),
                .start = k == 0 ? first : SumStart::result,
                .bias = bias,
                .y = y.at + row * y.stride,
                .y_stride = y.stride});
    }
  }
}
}  // namespace

PackedMatrix::PackedMatrix(std::int64_t out, std::int64_t in, Storage storage)
    : out_(out),
      in_(in),
      storage_(storage),
      panels_(storage == Storage::f32 ? padded_out(out) * in : padded_out(out) * in / 2),
      panel_(storage == Storage::f32 ? 0 : panel_width * in) {}

void PackedMatrix::pack(std::int64_t first, std::int64_t rows, const float* weights,
                        std::int64_t stride) {
  base::expects(first >= 0 && rows >= 0 && first + rows <= out_, "pack: rows beyond the matrix");
  // Whole panels go fast. The rest goes row by row: other rows of its panel may be there already.
  const std::int64_t whole = first % panel_width == 0 ? rows / panel_width * panel_width : 0;
  pack_panels(first, whole, weights, stride);
  for (std::int64_t row = whole; row < rows; ++row) pack_row(first + row, weights + row * stride);
}

void PackedMatrix::pack_panels(std::int64_t first, std::int64_t count, const float* weights,
                               std::int64_t stride) {
  if (storage_ == Storage::f32 && count > 0) {
    return gemm_kernels().interleave_right({weights, stride, 1, count, in_},
                                           panels_.data() + first * in_);
  }
  for (std::int64_t row = 0; row < count; row += panel_width) {
    gemm_kernels().interleave_right({weights + row * stride, stride, 1, panel_width, in_},
                                    panel_.data());
    to_halves(panel_.data(), panel_width * in_, halves() + (first + row) * in_);
  }
}

void PackedMatrix::pack_row(std::int64_t row, const float* weights) {
  const std::int64_t at = row / panel_width * panel_width * in_ + row % panel_width;
  for (std::int64_t k = 0; k < in_; ++k) {
    if (storage_ == Storage::f32) {
      panels_.data()[at + k * panel_width] = weights[k];
    } else {
      to_halves(weights + k, 1, halves() + at + k * panel_width);
    }
  }
}

void PackedMatrix::set_bits(std::span<const StoredValue> values) {
  // Places are far apart, and known: their memory is asked for before its turn.
  constexpr std::size_t ahead = 24;
  const std::size_t width = storage_ == Storage::f32 ? sizeof(float) : sizeof(std::uint16_t);
  const char* const memory = reinterpret_cast<const char*>(panels_.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i + ahead < values.size()) {
      __builtin_prefetch(memory + values[i + ahead].place * width, 1);
    }
    if (storage_ == Storage::f32) {
      panels_.data()[values[i].place] = std::bit_cast<float>(values[i].bits);
    } else {
      halves()[values[i].place] = static_cast<std::uint16_t>(values[i].bits);
    }
  }
}

void PackedMatrix::pack_transposed(std::int64_t first, std::int64_t columns, const float* weights,
                                   std::int64_t stride) {
  base::expects(first >= 0 && columns >= 0 && first + columns <= in_,
                "pack_transposed: columns beyond the matrix");
  base::expects(storage_ == Storage::f32, "pack_transposed: fp32 only");
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
  multiply_packed_columns(x, w, 0, w.out(), y, update, bias);
}

void multiply_packed_columns(InputRows x, const PackedMatrix& w, std::int64_t first,
                             std::int64_t count, OutputRows y, Update update, const float* bias) {
  base::expects(bias == nullptr || update == Update::replace, "a bias replaces the old result");
  base::expects(first >= 0 && count >= 0 && first % PackedMatrix::panel_width == 0 &&
                    first + count <= w.out(),
                "columns of the product, from a panel's first on");
  if (count == 0) return;
  const SumStart start = update == Update::add ? SumStart::result
                         : bias != nullptr     ? SumStart::bias
                                               : SumStart::zero;
  const std::int64_t panel = first / PackedMatrix::panel_width;
  const OutputRows to{y.at + first, y.stride};
  const float* from = bias == nullptr ? nullptr : bias + first;
  if (w.storage() == Storage::f32) {
    multiply_blocks(x, w.panel(panel), w.in(), count, to, start, from,
                    gemm_kernels().multiply_panels);
  } else {
    multiply_blocks(x, w.half_panel(panel), w.in(), count, to, start, from,
                    gemm_kernels().multiply_half_panels);
  }
}

}  // namespace physarum::model
