#pragma once

#include <cstdint>

#include "physarum/model/aligned_buffer.hpp"

namespace physarum::model {

// Matrix products in fp32 on one thread. Every element of a result is one chain of multiply-adds
// over k = 0, 1, 2 ..., started from its bias, its old value or zero. The chain does not depend on
// how many rows or columns the result has: a row of a result has the same bits in every batch.
// (Other bits on a processor without AVX2, where multiply and add round separately.)

/// What a product does with the old content of its result.
enum class Update { replace, add };

/// Weights [out, in], kept in the order in which the product y = x wT reads them: panels of 16
/// rows, each [in, 16], the last one filled up with zeros. Move-only.
class PackedMatrix {
 public:
  static constexpr std::int64_t panel_width = 16;

  PackedMatrix() = default;
  PackedMatrix(std::int64_t out, std::int64_t in);

  [[nodiscard]] std::int64_t out() const { return out_; }
  [[nodiscard]] std::int64_t in() const { return in_; }
  /// Copies rows [first, first + rows) from row-major memory whose rows are `stride` apart. Rows of
  /// several matrices with the same input make one product. Takes no memory.
  void pack(std::int64_t first, std::int64_t rows, const float* weights, std::int64_t stride);
  /// The other way round: columns [first, first + columns) of this matrix from as many rows of
  /// out() values each. For the way back: dx = dy w is dy times the transpose of w.
  void pack_transposed(std::int64_t first, std::int64_t columns, const float* weights,
                       std::int64_t stride);

  /// [in, 16] for rows [16 index, 16 index + 16).
  [[nodiscard]] const float* panel(std::int64_t index) const {
    return panels_.data() + index * in_ * panel_width;
  }

 private:
  std::int64_t out_ = 0;
  std::int64_t in_ = 0;
  AlignedBuffer panels_;
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
