#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matrix_product.hpp"

namespace physarum::model {

/// Linear layers with one input whose outputs stand side by side: query, key and value; gate and
/// up. Weights that are neighbours in the flat buffer make one matrix product; if their sizes force
/// a gap between them, there is one for each.
class Projection {
 public:
  struct Part {
    std::int64_t weight;  ///< offset in the flat buffer of [width, in]
    std::int64_t bias;    ///< offset of [width], or -1
    std::int64_t width;
  };
  Projection(std::int64_t in, const std::vector<Part>& parts);

  [[nodiscard]] std::int64_t in() const { return in_; }
  [[nodiscard]] std::int64_t out() const { return out_; }

  /// y (+)= x wT, then + bias. `flat` are all parameters.
  void forward(const float* flat, ConstMatrix x, Matrix y, Into into) const;
  /// dx = dy w.
  void backward_input(const float* flat, ConstMatrix dy, Matrix dx) const;
  /// Adds to the gradients of weights and biases in `flat_gradients`.
  void backward_weights(ConstMatrix dy, ConstMatrix x, float* flat_gradients) const;

 private:
  struct Piece {
    std::int64_t offset;
    std::int64_t width;
    std::int64_t column;  ///< where its outputs start
  };
  std::int64_t in_;
  std::int64_t out_ = 0;
  std::vector<Piece> weights_;
  std::vector<Piece> biases_;
};

}  // namespace physarum::model
