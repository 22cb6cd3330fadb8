#include "matrix_product.hpp"

#include "physarum/base/contracts.hpp"
#include "physarum/model/gemm.hpp"

namespace physarum::model {

namespace {
GemmWorkspace& workspace() {
  // Grows to what the largest product needs; products have no state of their own.
  thread_local GemmWorkspace memory;
  return memory;
}

Factor plain(ConstMatrix m) { return {m.at, m.stride, 1}; }
Factor transposed(ConstMatrix m) { return {m.at, 1, m.stride}; }
Update update(Into into) { return into == Into::add ? Update::add : Update::replace; }
}  // namespace

void product_nt(ConstMatrix x, ConstMatrix w, Matrix y, Into into) {
  base::expects(x.columns == w.columns && x.rows == y.rows && w.rows == y.columns,
                "product_nt: sizes do not fit");
  multiply_general({y.rows, y.columns, x.columns}, plain(x), transposed(w), {y.at, y.stride},
                   update(into), workspace());
}

void product_nn(ConstMatrix dy, ConstMatrix w, Matrix dx, Into into) {
  base::expects(dy.columns == w.rows && dy.rows == dx.rows && w.columns == dx.columns,
                "product_nn: sizes do not fit");
  multiply_general({dx.rows, dx.columns, dy.columns}, plain(dy), plain(w), {dx.at, dx.stride},
                   update(into), workspace());
}

void product_tn(ConstMatrix dy, ConstMatrix x, Matrix dw, Into into) {
  base::expects(dy.rows == x.rows && dy.columns == dw.rows && x.columns == dw.columns,
                "product_tn: sizes do not fit");
  multiply_general({dw.rows, dw.columns, dy.rows}, transposed(dy), plain(x), {dw.at, dw.stride},
                   update(into), workspace());
}

}  // namespace physarum::model
