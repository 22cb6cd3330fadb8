#pragma once

#include <cstdint>
#include <vector>

#include "physarum/model/gemm.hpp"

#include "matrix_view.hpp"

namespace physarum::model {

/// Linear layers with one input whose outputs stand side by side: query, key and value; gate and
/// up. They make one matrix product. Weights are reordered for it once for many rows.
class Projection {
 public:
  struct Part {
    std::int64_t weight;  ///< offset in the flat buffer of [width, in]
    std::int64_t bias;    ///< offset of [width], or -1
    std::int64_t width;
  };
  Projection(std::int64_t in, std::vector<Part> parts);

  [[nodiscard]] std::int64_t in() const { return in_; }
  [[nodiscard]] std::int64_t out() const { return out_; }

  /// Takes the weights from `flat`, all parameters; before forward() or backward_input(), whenever
  /// they may have changed.
  void pack_for_forward(const float* flat);
  void pack_for_backward(const float* flat);

  /// y (+)= x wT + bias.
  void forward(ConstMatrix x, Matrix y, Update update) const;
  /// dx = dy w.
  void backward_input(ConstMatrix dy, Matrix dx) const;
  /// Adds to the gradients of weights and biases in `flat_gradients`.
  void backward_weights(ConstMatrix dy, ConstMatrix x, float* flat_gradients,
                        GemmWorkspace& workspace) const;

 private:
  std::int64_t in_;
  std::int64_t out_ = 0;
  std::vector<Part> parts_;
  bool has_bias_ = false;
  std::vector<float> bias_;    ///< [out]
  PackedMatrix weights_;       ///< [out, in]
  PackedMatrix back_weights_;  ///< [in, out]
};

}  // namespace physarum::model
