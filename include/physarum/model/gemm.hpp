#pragma once

#include <cstdint>

#include "physarum/model/aligned_buffer.hpp"

namespace physarum::model {

// Matrix products in fp32 on one thread. Every element of a result is a chain of multiply-adds over
// k = 0, 1, 2 ..., 256 of them at a time; what it is added to (a bias, the old value, the chains
// before) comes last. It does not depend on how many rows or columns the result has: a row of a
// result has the same bits in every batch. (Other bits on a processor without fused multiply-add.)

/// What a product does with the old content of its result.
enum class Update { replace, add };

/// What the values of a packed matrix are kept in. Products are the same to the bit.
enum class Storage {
  f32,
  bf16,  ///< half the memory to keep and to read; the values must be exact in it
};

/// One value of a PackedMatrix: its place there, and its bits in storage().
struct StoredValue {
  std::uint32_t place;
  std::uint32_t bits;
};

/// Columns of a product that are computed together.
constexpr std::int64_t gemm_strip_columns = 48;
/// Columns of a strip as it is kept, of `columns` in all and from `first` on: the last strip has
/// only as many panels of 16 as it needs.
[[nodiscard]] constexpr std::int64_t gemm_strip_width(std::int64_t columns, std::int64_t first) {
  const std::int64_t left = (columns - first + 15) / 16 * 16;
  return left < gemm_strip_columns ? left : gemm_strip_columns;
}

/// Weights [out, in], kept in the order in which the product y = x wT reads them: strips of 48
/// rows, each [in, 48], one after the other; the last one as wide as it must be, in panels of 16,
/// and filled up with zeros. A product of few rows reads the whole matrix as one stream: read as
/// eight streams side by side, memory gives three quarters as much. Move-only.
class PackedMatrix {
 public:
  static constexpr std::int64_t panel_width = 16;

  PackedMatrix() = default;
  PackedMatrix(std::int64_t out, std::int64_t in, Storage storage = Storage::f32);

  [[nodiscard]] std::int64_t out() const { return out_; }
  [[nodiscard]] std::int64_t in() const { return in_; }
  [[nodiscard]] Storage storage() const { return storage_; }
  /// Copies rows [first, first + rows) from row-major memory whose rows are `stride` apart. Rows of
  /// several matrices with the same input make one product. Takes no memory.
  void pack(std::int64_t first, std::int64_t rows, const float* weights, std::int64_t stride);
  /// The other way round: columns [first, first + columns) of this matrix from as many rows of
  /// out() values each. For the way back: dx = dy w is dy times the transpose of w. Storage::f32
  /// only.
  void pack_transposed(std::int64_t first, std::int64_t columns, const float* weights,
                       std::int64_t stride);

  /// Sets single values.
  void set_bits(std::span<const StoredValue> values);

  /// Rows that the strip of `row` has; its values of one column and the next are so far apart.
  [[nodiscard]] std::int64_t strip_width(std::int64_t row) const {
    return gemm_strip_width(out_, row / gemm_strip_columns * gemm_strip_columns);
  }
  /// Where a value is among floats() or halves().
  [[nodiscard]] std::int64_t place(std::int64_t row, std::int64_t column) const {
    const std::int64_t lane = row % gemm_strip_columns;
    return (row - lane) * in_ + column * strip_width(row) + lane;
  }
  struct Element {
    std::int64_t row;
    std::int64_t column;
  };
  /// What is at a place.
  [[nodiscard]] Element element(std::int64_t place) const {
    const std::int64_t first = place / (gemm_strip_columns * in_) * gemm_strip_columns;
    const std::int64_t width = strip_width(first);
    const std::int64_t in_strip = place - first * in_;
    return {first + in_strip % width, in_strip / width};
  }
  /// Storage::f32.
  [[nodiscard]] const float* floats() const { return panels_.data(); }
  /// Storage::bf16.
  [[nodiscard]] const std::uint16_t* halves() const {
    return reinterpret_cast<const std::uint16_t*>(panels_.data());
  }

 private:
  [[nodiscard]] std::int64_t padded_out() const {
    return (out_ + panel_width - 1) / panel_width * panel_width;
  }
  void pack_panels(std::int64_t first, std::int64_t count, const float* weights,
                   std::int64_t stride);
  void pack_row(std::int64_t row, const float* weights);
  std::int64_t out_ = 0;
  std::int64_t in_ = 0;
  Storage storage_ = Storage::f32;
  [[nodiscard]] std::uint16_t* kept_halves() {
    return reinterpret_cast<std::uint16_t*>(panels_.data());
  }
  AlignedBuffer panels_;
  AlignedBuffer panel_;  ///< Storage::bf16: one panel in fp32, on its way
};

/// Rows of a row-major matrix that someone else owns.
struct InputRows {
  const float* at;
  std::int64_t count;
  std::int64_t stride;  ///< elements from one row to the next
};
struct OutputRows {
  float* at;
  std::int64_t stride;
};

/// y (+)= x wT, started from `bias` [out] if it is not null (then Update::replace only). x has
/// w.in() columns, y has w.out(); they do not overlap. Any thread; takes no memory.
void multiply_packed(InputRows x, const PackedMatrix& w, OutputRows y,
                     Update update = Update::replace, const float* bias = nullptr);

/// The same for columns [first, first + count) of y alone: threads can share a product. Both are
/// multiples of gemm_strip_columns, but for the end of the matrix.
void multiply_packed_columns(InputRows x, const PackedMatrix& w, std::int64_t first,
                             std::int64_t count, OutputRows y, Update update = Update::replace,
                             const float* bias = nullptr);

/// A factor of a general product: element (i, j) is at[i * row_stride + j * column_stride]. A
/// row-major matrix has column_stride 1, its transpose row_stride 1.
struct Factor {
  const float* at;
  std::int64_t row_stride;
  std::int64_t column_stride;
};
struct ProductSize {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

/// Memory in which general products reorder their factors; grows to what the largest one needs.
class GemmWorkspace {
 public:
  [[nodiscard]] float* left(std::int64_t size);
  [[nodiscard]] float* right(std::int64_t size);

 private:
  AlignedBuffer left_;
  AlignedBuffer right_;
};

/// c (+)= a b with a [rows, depth], b [depth, columns] and row-major c.
void multiply_general(const ProductSize& size, Factor a, Factor b, OutputRows c, Update update,
                      GemmWorkspace& workspace);

}  // namespace physarum::model
