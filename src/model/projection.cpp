#include "projection.hpp"

#include <algorithm>
#include <utility>

#include "physarum/base/contracts.hpp"

#include "kernels.hpp"

namespace physarum::model {

Projection::Projection(std::int64_t in, std::vector<Part> parts)
    : in_(in), parts_(std::move(parts)) {
  for (const auto& part : parts_) {
    out_ += part.width;
    has_bias_ = has_bias_ || part.bias >= 0;
  }
}

void Projection::pack_for_forward(const float* flat) {
  if (weights_.out() == 0) weights_ = PackedMatrix(out_, in_);
  if (has_bias_) bias_.assign(static_cast<std::size_t>(out_), 0.0F);
  std::int64_t first = 0;
  for (const auto& part : parts_) {
    weights_.pack(first, part.width, flat + part.weight, in_);
    if (part.bias >= 0) std::copy_n(flat + part.bias, part.width, bias_.data() + first);
    first += part.width;
  }
}

void Projection::pack_for_backward(const float* flat) {
  if (back_weights_.out() == 0) back_weights_ = PackedMatrix(in_, out_);
  std::int64_t first = 0;
  for (const auto& part : parts_) {
    back_weights_.pack_transposed(first, part.width, flat + part.weight, in_);
    first += part.width;
  }
}

void Projection::forward(ConstMatrix x, Matrix y, Update update) const {
  base::expects(x.columns == in_ && y.columns == out_ && x.rows == y.rows,
                "projection: sizes do not fit");
  const bool start_with_bias = has_bias_ && update == Update::replace;
  multiply_packed({x.at, x.rows, x.stride}, weights_, {y.at, y.stride}, update,
                  start_with_bias ? bias_.data() : nullptr);
  if (has_bias_ && !start_with_bias) {
    kernels().add_bias(bias_.data(), y.rows, out_, y.stride, y.at);
  }
}

void Projection::backward_input(ConstMatrix dy, Matrix dx) const {
  base::expects(dy.columns == out_ && dx.columns == in_ && dx.rows == dy.rows,
                "projection: sizes do not fit");
  multiply_packed({dy.at, dy.rows, dy.stride}, back_weights_, {dx.at, dx.stride});
}

void Projection::backward_weights(ConstMatrix dy, ConstMatrix x, float* flat_gradients,
                                  GemmWorkspace& workspace) const {
  base::expects(dy.columns == out_ && x.columns == in_ && dy.rows == x.rows,
                "projection: sizes do not fit");
  const float* at = dy.at;
  for (const auto& part : parts_) {
    multiply_general({part.width, in_, x.rows}, {at, 1, dy.stride}, {x.at, x.stride, 1},
                     {flat_gradients + part.weight, in_}, Update::add, workspace);
    if (part.bias >= 0) {
      kernels().add_row_sums(at, dy.rows, part.width, dy.stride, flat_gradients + part.bias);
    }
    at += part.width;
  }
}

}  // namespace physarum::model
