#pragma once

// Compiled once for each target: see simd.hpp.

#include "gemm_kernels.hpp"
#include "simd.hpp"

namespace physarum::model::PHYSARUM_KERNELS {

/// Lines are taken eight at a time, whatever a vector holds.
constexpr std::int64_t block_lines = 8;

/// Rows become columns.
PHYSARUM_INLINE void transpose(Float8 (&m)[block_lines]) {
  Float8 pairs[8];
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = __builtin_shufflevector(m[2 * i], m[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[2 * i + 1] = __builtin_shufflevector(m[2 * i], m[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  Float8 fours[8];
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const Float8 a = pairs[4 * i + j];
      const Float8 b = pairs[4 * i + 2 + j];
      fours[4 * i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      fours[4 * i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    m[i] = __builtin_shufflevector(fours[i], fours[4 + i], 0, 1, 2, 3, 8, 9, 10, 11);
    m[4 + i] = __builtin_shufflevector(fours[i], fours[4 + i], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/// `count` (<= 8) lines of contiguous values to [depth, group] at column 0 of `to`. Writes eight
/// values for each depth: what stands in columns 8 - group ... of the next depth is written later,
/// and behind the last depth there must be room.
inline void interleave_lines(const float* lines, std::int64_t line_stride, std::int64_t count,
                             std::int64_t depth, std::int64_t group, float* to) {
  std::int64_t k = 0;
  for (; k + block_lines <= depth; k += block_lines) {
    Float8 block[block_lines];
    for (std::int64_t i = 0; i < block_lines; ++i) {
      block[i] = i < count ? load<Float8>(lines + i * line_stride + k) : Float8{};
    }
    transpose(block);
    for (std::int64_t i = 0; i < block_lines; ++i) store(to + (k + i) * group, block[i]);
  }
  for (; k < depth; ++k) {
    for (std::int64_t i = 0; i < block_lines; ++i) {
      to[k * group + i] = i < count ? lines[i * line_stride + k] : 0.0F;
    }
  }
}

/// Lines that stand side by side: depth by depth, so that memory is read in its order. The lines of
/// a group become `group` columns of a block whose depths are `width` apart.
template <std::int64_t group>
inline void interleave_columns(const LineBlock& block, std::int64_t group_stride,
                               std::int64_t width, float* to) {
  const std::int64_t whole = block.lines / group;
  for (std::int64_t k = 0; k < block.depth; ++k) {
    const float* from = block.at + k * block.depth_stride;
    float* column = to + k * width;
    for (std::int64_t g = 0; g < whole; ++g) {
      std::memcpy(column + g * group_stride, from + g * group, sizeof(float) * group);
    }
    if (whole * group == block.lines) continue;
    for (std::int64_t i = 0; i < group; ++i) {
      const std::int64_t line = whole * group + i;
      column[whole * group_stride + i] = line < block.lines ? from[line] : 0.0F;
    }
  }
}

template <std::int64_t group>
inline void interleave(const LineBlock& block, std::int64_t group_stride, std::int64_t width,
                       float* to) {
  if (block.line_stride == 1) return interleave_columns<group>(block, group_stride, width, to);
  for (std::int64_t line = 0; line < block.lines; line += group, to += group_stride) {
    const std::int64_t left = block.lines - line;
    const std::int64_t count = left < group ? left : group;
    const float* lines = block.at + line * block.line_stride;
    for (std::int64_t first = 0; first < group; first += block_lines) {
      interleave_lines(lines + first * block.line_stride, block.line_stride, count - first,
                       block.depth, width, to + first);
    }
  }
}

/// See GemmKernels.
inline void interleave_left(const LineBlock& block, float* to) {
  interleave<gemm_tile_rows>(block, block.depth * gemm_tile_rows, gemm_tile_rows, to);
}
inline void interleave_right(const LineBlock& block, float* to, std::int64_t width) {
  interleave<panel_columns>(block, panel_columns, width, to);
}

}  // namespace physarum::model::PHYSARUM_KERNELS
