#pragma once

#include <cstdint>

namespace physarum::model {

/// Where the sums of a strip task start.
enum class SumStart { zero, bias, result };

/// One block of depth of one strip of a product: rows of x times at most 48 columns. `Weight` is
/// float, or std::uint16_t for bf16.
template <class Weight>
struct StripTaskOf {
  const float* x;
  std::int64_t rows;
  std::int64_t tile_stride;  ///< elements from one tile of x (see gemm_tile_rows) to the next
  std::int64_t row_stride;   ///< inside a tile
  std::int64_t step;         ///< from one depth to the next; 1: rows lie as in a matrix
  const Weight* weights;     ///< [depth, width]
  std::int64_t width;        ///< a multiple of 16
  const Weight* next;        ///< needed after these, as many: to be fetched in the meantime
  std::int64_t columns;      ///< at most width
  std::int64_t depth;        ///< at most gemm_depth
  SumStart start;
  const float* bias;  ///< [columns]
  float* y;
  std::int64_t y_stride;
};
using StripTask = StripTaskOf<float>;
using HalfStripTask = StripTaskOf<std::uint16_t>;

/// Lines of a factor (rows of the left, columns of the right one); one of the strides is 1.
struct LineBlock {
  const float* at;
  std::int64_t line_stride;
  std::int64_t depth_stride;
  std::int64_t lines;
  std::int64_t depth;
};

/// Rows of x that are computed together: their sums fill the vector registers.
constexpr std::int64_t gemm_tile_rows = 6;
/// Columns of weights that are loaded together: one or two vectors.
constexpr std::int64_t panel_columns = 16;
/// Most of a product's depth that one task takes: 256 values of 48 columns are 48 KiB, about the
/// first cache.
constexpr std::int64_t gemm_depth = 256;
/// Floats that interleave_left may write behind its result.
constexpr std::int64_t interleave_slack = 2;

/// The innermost loops of matrix products, compiled once for each target.
struct GemmKernels {
  const char* target;
  void (*multiply_strip)(const StripTask& task);
  void (*multiply_half_strip)(const HalfStripTask& task);
  /// Copies lines to [depth, 6] blocks, six lines each, the last one filled up with zeros.
  void (*interleave_left)(const LineBlock& block, float* to);
  /// Copies lines to columns of a strip [depth, width], 16 at a time, the last ones filled up with
  /// zeros.
  void (*interleave_right)(const LineBlock& block, float* to, std::int64_t width);
};

/// The table for cpu_target().
[[nodiscard]] const GemmKernels& gemm_kernels();
[[nodiscard]] const GemmKernels& baseline_gemm_kernels();
/// Null if this build or this processor has no AVX2 or AVX-512.
[[nodiscard]] const GemmKernels* avx2_gemm_kernels();
[[nodiscard]] const GemmKernels* avx512_gemm_kernels();

}  // namespace physarum::model
