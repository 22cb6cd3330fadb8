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

enum class Into { replace, add };

/// The three products of a linear layer with weights w [out, in]. Sizes are checked by contract.
/// y (+)= x wT: x [rows, in], y [rows, out].
void product_nt(ConstMatrix x, ConstMatrix w, Matrix y, Into into);
/// dx (+)= dy w: dy [rows, out], dx [rows, in].
void product_nn(ConstMatrix dy, ConstMatrix w, Matrix dx, Into into);
/// dw (+)= dyT x: dy [rows, out], x [rows, in], dw [out, in].
void product_tn(ConstMatrix dy, ConstMatrix x, Matrix dw, Into into);

}  // namespace physarum::model
