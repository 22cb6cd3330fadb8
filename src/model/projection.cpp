#include "projection.hpp"

#include "kernels.hpp"

namespace physarum::model {

namespace {
template <class T>
MatrixOf<T> columns(MatrixOf<T> m, std::int64_t first, std::int64_t count) {
  return {m.at + first, m.rows, count, m.stride};
}
}  // namespace

Projection::Projection(std::int64_t in, const std::vector<Part>& parts) : in_(in) {
  for (const auto& part : parts) {
    const bool neighbour =
        !weights_.empty() && weights_.back().offset + weights_.back().width * in_ == part.weight;
    if (neighbour) {
      weights_.back().width += part.width;
    } else {
      weights_.push_back({part.weight, part.width, out_});
    }
    if (part.bias >= 0) biases_.push_back({part.bias, part.width, out_});
    out_ += part.width;
  }
}

void Projection::forward(const float* flat, ConstMatrix x, Matrix y, Into into) const {
  for (const auto& piece : weights_) {
    product_nt(x, dense(flat + piece.offset, piece.width, in_),
               columns(y, piece.column, piece.width), into);
  }
  for (const auto& piece : biases_) {
    kernels().add_bias(flat + piece.offset, y.rows, piece.width, y.stride, y.at + piece.column);
  }
}

void Projection::backward_input(const float* flat, ConstMatrix dy, Matrix dx) const {
  Into into = Into::replace;
  for (const auto& piece : weights_) {
    product_nn(columns(dy, piece.column, piece.width), dense(flat + piece.offset, piece.width, in_),
               dx, into);
    into = Into::add;
  }
}

void Projection::backward_weights(ConstMatrix dy, ConstMatrix x, float* flat_gradients) const {
  for (const auto& piece : weights_) {
    product_tn(columns(dy, piece.column, piece.width), x,
               dense(flat_gradients + piece.offset, piece.width, in_), Into::add);
  }
  for (const auto& piece : biases_) {
    kernels().add_row_sums(dy.at + piece.column, dy.rows, piece.width, dy.stride,
                           flat_gradients + piece.offset);
  }
}

}  // namespace physarum::model
