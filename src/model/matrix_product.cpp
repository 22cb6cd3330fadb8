#include "matrix_product.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>

#include "physarum/base/contracts.hpp"

#include "physarum/model/transformer.hpp"

namespace physarum::model {

namespace {
at::Tensor view(ConstMatrix m) {
  // LibTorch has no tensors of constant memory; the products only write to their result.
  return at::from_blob(const_cast<float*>(m.at), {m.rows, m.columns}, {m.stride, 1}, at::kFloat);
}

at::Tensor view(Matrix m) {
  return at::from_blob(m.at, {m.rows, m.columns}, {m.stride, 1}, at::kFloat);
}

void multiply(const at::Tensor& left, const at::Tensor& right, Matrix result, Into into) {
  const at::AutoDispatchBelowAutograd no_graph;
  auto out = view(result);
  if (into == Into::add) {
    at::addmm_out(out, out, left, right);
  } else {
    at::mm_out(out, left, right);
  }
}
}  // namespace

void product_nt(ConstMatrix x, ConstMatrix w, Matrix y, Into into) {
  base::expects(x.columns == w.columns && x.rows == y.rows && w.rows == y.columns,
                "product_nt: sizes do not fit");
  multiply(view(x), view(w).t(), y, into);
}

void product_nn(ConstMatrix dy, ConstMatrix w, Matrix dx, Into into) {
  base::expects(dy.columns == w.rows && dy.rows == dx.rows && w.columns == dx.columns,
                "product_nn: sizes do not fit");
  multiply(view(dy), view(w), dx, into);
}

void product_tn(ConstMatrix dy, ConstMatrix x, Matrix dw, Into into) {
  base::expects(dy.rows == x.rows && dy.columns == dw.rows && x.columns == dw.columns,
                "product_tn: sizes do not fit");
  multiply(view(dy).t(), view(x), dw, into);
}

void use_threads(int count) {
  base::expects(count >= 1, "a process computes with at least one thread");
  at::set_num_threads(count);
}

}  // namespace physarum::model
