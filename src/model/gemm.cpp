#include "physarum/model/gemm.hpp"

#include <algorithm>
#include <bit>

#include "physarum/base/contracts.hpp"

#include "gemm_kernels.hpp"

namespace physarum::model {

namespace {
// 256 values of 192 rows are 192 KiB, part of the second cache.
constexpr std::int64_t row_block = 192;
/// So many rows of x stay in the second cache whatever their depth.
constexpr std::int64_t few_rows = 8;

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

/// The part of a product that is in columns of y from a strip's first on.
template <class Weight>
struct Columns {
  InputRows x;
  const Weight* weights;
  std::int64_t depth;
  std::int64_t columns;
  OutputRows y;
  SumStart first;
  const float* bias;
  void (*multiply)(const StripTaskOf<Weight>&);

  [[nodiscard]] const Weight* block(std::int64_t strip, std::int64_t k) const {
    return weights + strip * depth + k * gemm_strip_width(columns, strip);
  }
  /// Rows [row, row + rows) of the strip from column `strip` on, one block of its depth.
  void multiply_block(std::int64_t row, std::int64_t rows, std::int64_t strip, std::int64_t k,
                      const Weight* next) const {
    multiply({.x = x.at + row * x.stride + k,
              .rows = rows,
              .tile_stride = gemm_tile_rows * x.stride,
              .row_stride = x.stride,
              .step = 1,
              .weights = block(strip, k),
              .width = gemm_strip_width(columns, strip),
              .next = next,
              .columns = std::min(gemm_strip_columns, columns - strip),
              .depth = std::min(gemm_depth, depth - k),
              .start = k == 0 ? first : SumStart::result,
              .bias = bias == nullptr ? nullptr : bias + strip,
              .y = y.at + row * y.stride + strip,
              .y_stride = y.stride});
  }
  /// Strip by strip: the weights pass once, in the order in which they lie.
  void multiply_few(std::int64_t row, std::int64_t rows) const {
    for (std::int64_t strip = 0; strip < columns; strip += gemm_strip_columns) {
      for (std::int64_t k = 0; k < depth; k += gemm_depth) {
        const Weight* here = block(strip, k);
        multiply_block(row, rows, strip, k,
                       here + gemm_strip_width(columns, strip) * std::min(gemm_depth, depth - k));
      }
    }
  }
  /// Block by block of the depth, so that a block of x stays in the second cache.
  void multiply_many(std::int64_t row, std::int64_t rows) const {
    for (std::int64_t k = 0; k < depth; k += gemm_depth) {
      for (std::int64_t strip = 0; strip < columns; strip += gemm_strip_columns) {
        const std::int64_t after = strip + gemm_strip_columns;
        multiply_block(row, rows, strip, k, block(after < columns ? after : 0, k));
      }
    }
  }
  void multiply_all() const {
    for (std::int64_t row = 0; row < x.count; row += row_block) {
      const std::int64_t rows = std::min(row_block, x.count - row);
      rows <= few_rows ? multiply_few(row, rows) : multiply_many(row, rows);
    }
  }
};
}  // namespace

PackedMatrix::PackedMatrix(std::int64_t out, std::int64_t in, Storage storage)
    : out_(out),
      in_(in),
      storage_(storage),
      panels_(storage == Storage::f32 ? padded_out() * in : padded_out() * in / 2),
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
  for (std::int64_t row = first; row < first + count; row += panel_width) {
    const LineBlock lines{weights + (row - first) * stride, stride, 1, panel_width, in_};
    const std::int64_t width = strip_width(row);
    if (storage_ == Storage::f32) {
      gemm_kernels().interleave_right(lines, panels_.data() + place(row, 0), width);
      continue;
    }
    gemm_kernels().interleave_right(lines, panel_.data(), panel_width);
    for (std::int64_t k = 0; k < in_; ++k) {
      to_halves(panel_.data() + k * panel_width, panel_width, kept_halves() + place(row, k));
    }
  }
}

void PackedMatrix::pack_row(std::int64_t row, const float* weights) {
  const std::int64_t width = strip_width(row);
  std::int64_t at = place(row, 0);
  for (std::int64_t k = 0; k < in_; ++k, at += width) {
    if (storage_ == Storage::f32) {
      panels_.data()[at] = weights[k];
    } else {
      to_halves(weights + k, 1, kept_halves() + at);
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
      kept_halves()[values[i].place] = static_cast<std::uint16_t>(values[i].bits);
    }
  }
}

void PackedMatrix::pack_transposed(std::int64_t first, std::int64_t columns, const float* weights,
                                   std::int64_t stride) {
  base::expects(first >= 0 && columns >= 0 && first + columns <= in_,
                "pack_transposed: columns beyond the matrix");
  base::expects(storage_ == Storage::f32, "pack_transposed: fp32 only");
  for (std::int64_t row = 0; row < out_; row += gemm_strip_columns) {
    const std::int64_t width = strip_width(row);
    gemm_kernels().interleave_right(
        {weights + row, 1, stride, std::min(gemm_strip_columns, out_ - row), columns},
        panels_.data() + place(row, first), width);
  }
}

void multiply_packed(InputRows x, const PackedMatrix& w, OutputRows y, Update update,
                     const float* bias) {
  multiply_packed_columns(x, w, 0, w.out(), y, update, bias);
}

void multiply_packed_columns(InputRows x, const PackedMatrix& w, std::int64_t first,
                             std::int64_t count, OutputRows y, Update update, const float* bias) {
  base::expects(bias == nullptr || update == Update::replace, "a bias replaces the old result");
  base::expects(first >= 0 && count >= 0 && first % gemm_strip_columns == 0 &&
                    first + count <= w.out() &&
                    (count % gemm_strip_columns == 0 || first + count == w.out()),
                "whole strips of a product's columns");
  if (count == 0) return;
  const SumStart start = update == Update::add ? SumStart::result
                         : bias != nullptr     ? SumStart::bias
                                               : SumStart::zero;
  const OutputRows to{y.at + first, y.stride};
  const float* from = bias == nullptr ? nullptr : bias + first;
  if (w.storage() == Storage::f32) {
    Columns<float>{x,    w.floats() + w.place(first, 0), w.in(), count, to, start,
                   from, gemm_kernels().multiply_strip}
        .multiply_all();
  } else {
    Columns<std::uint16_t>{x,    w.halves() + w.place(first, 0),    w.in(), count, to, start,
                           from, gemm_kernels().multiply_half_strip}
        .multiply_all();
  }
}

}  // namespace physarum::model
