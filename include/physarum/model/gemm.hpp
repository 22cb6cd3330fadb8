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

/// One value of a PackedMatrix: its index among the values as they are stored, row / 16 * 16 * in()
/// + column * 16 + row % 16, and its bits in storage().
struct StoredValue {
  std::uint32_t place;
  std::uint32_t bits;
};

/// Weights [out, in], kept in the order in which the product y = x wT reads them: panels of 16
/// rows, each [in, 16], the last one filled up with zeros. Move-only.
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

  /// [in, 16] for rows [16 index, 16 index + 16). Storage::f32.
  [[nodiscard]] const float* panel(std::int64_t index) const {
    return panels_.data() + index * in_ * panel_width;
  }
  /// The same as bf16. Storage::bf16.
  [[nodiscard]] const std::uint16_t* half_panel(std::int64_t index) const {
    return reinterpret_cast<const std::uint16_t*>(panels_.data()) + index * in_ * panel_width;
  }

 private:
  void pack_panels(std::int64_t first, std::int64_t count, const float* weights,
                   std::int64_t stride);
  void pack_row(std::int64_t row, const float* weights);
  std::int64_t out_ = 0;
  std::int64_t in_ = 0;
  Storage storage_ = Storage::f32;
  [[nodiscard]] std::uint16_t* halves() { return reinterpret_cast<std::uint16_t*>(panels_.data()); }
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

/// The same for columns [first, first + count) of y alone: threads can share a product. `first` is
/// a multiple of PackedMatrix::panel_width; most is got from multiples of gemm_strip_columns.
void multiply_packed_columns(InputRows x, const PackedMatrix& w, std::int64_t first,
                             std::int64_t count, OutputRows y, Update update = Update::replace,
                             const float* bias = nullptr);
/// Columns that are computed together.
constexpr std::int64_t gemm_strip_columns = 3 * PackedMatrix::panel_width;

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
