#pragma once

#include <cstdint>

namespace physarum::model {

/// A row-major matrix in memory that someone else owns; rows are `stride` elements apart.
template <class T>
struct MatrixOf {
  T* at;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t stride;
};
using Matrix = MatrixOf<float>;
using ConstMatrix = MatrixOf<const float>;

[[nodiscard]] inline Matrix dense(float* at, std::int64_t rows, std::int64_t columns) {
  return {at, rows, columns, columns};
}
[[nodiscard]] inline ConstMatrix dense(const float* at, std::int64_t rows, std::int64_t columns) {
  return {at, rows, columns, columns};
}
[[nodiscard]] inline ConstMatrix read(Matrix m) { return {m.at, m.rows, m.columns, m.stride}; }

/// Layers go over their rows in chunks of this many, through all their operations: what lies
/// between two operations then stays in the second cache.
inline constexpr std::int64_t chunk_rows = 192;

}  // namespace physarum::model
