#pragma once

#include <cstdint>
#include <vector>

#include "physarum/model/config.hpp"
#include "physarum/model/parameter_layout.hpp"

namespace physarum::model {

/// RMSNorm of every query head and every key head by itself, before the rotation; all query heads
/// share one weight [head_dim], all key heads another. Rows are tokens: query, key and value heads
/// side by side, as a query-key-value projection makes them.
class HeadNorm {
 public:
  HeadNorm(const ModelConfig& config, const LayerOffsets& at);

  [[nodiscard]] bool present() const { return query_weight_ >= 0; }
  /// Heads that are normalised in a token: so many reciprocals are kept of each.
  [[nodiscard]] std::int64_t heads() const { return query_heads_ + key_heads_; }

  /// `qkv` to `normed`, both [tokens, attention_width]; values are copied. Keeps the reciprocals
  /// [tokens, heads].
  void forward(const float* flat, std::int64_t tokens, const float* qkv, float* normed,
               float* inverse_rms) const;
  /// `normed` again from what was kept.
  void again(const float* flat, std::int64_t tokens, const float* qkv, const float* inverse_rms,
             float* normed) const;
  /// In place: d_qkv, the gradient of `normed`, becomes that of `qkv`. Adds to the weights'
  /// gradients.
  void backward(const float* flat, float* flat_gradients, std::int64_t tokens, const float* qkv,
                const float* inverse_rms, float* d_qkv);

 private:
  [[nodiscard]] std::int64_t normed_width() const { return heads() * head_dim_; }
  std::int64_t query_weight_;
  std::int64_t key_weight_;
  std::int64_t query_heads_;
  std::int64_t key_heads_;
  std::int64_t head_dim_;
  std::int64_t row_width_;
  float epsilon_;
  std::vector<float> d_normed_;  ///< of one token
};

}  // namespace physarum::model
