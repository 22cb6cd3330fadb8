#include "head_norm.hpp"

#include <algorithm>

#include "kernels.hpp"

namespace physarum::model {

HeadNorm::HeadNorm(const ModelConfig& config, const LayerOffsets& at)
    : query_weight_(at.query_norm),
      key_weight_(at.key_norm),
      query_heads_(config.num_attention_heads),
      key_heads_(config.num_key_value_heads),
      head_dim_(config.head_dim),
      row_width_(config.attention_width()),
      epsilon_(static_cast<float>(config.rms_norm_eps)) {}

void HeadNorm::forward(const float* flat, std::int64_t tokens, const float* qkv, float* normed,
                       float* inverse_rms) const {
  const auto keys = query_heads_ * head_dim_;
  for (std::int64_t t = 0; t < tokens; ++t) {
    kernels().rms_norm(qkv, flat + query_weight_, epsilon_, query_heads_, head_dim_, normed,
                       inverse_rms);
    kernels().rms_norm(qkv + keys, flat + key_weight_, epsilon_, key_heads_, head_dim_,
                       normed + keys, inverse_rms + query_heads_);
    std::copy(qkv + normed_width(), qkv + row_width_, normed + normed_width());
    qkv += row_width_;
    normed += row_width_;
    inverse_rms += heads();
  }
}

void HeadNorm::again(const float* flat, std::int64_t tokens, const float* qkv,
                     const float* inverse_rms, float* normed) const {
  const auto keys = query_heads_ * head_dim_;
  for (std::int64_t t = 0; t < tokens; ++t) {
    kernels().rms_norm_again(qkv, flat + query_weight_, inverse_rms, query_heads_, head_dim_,
                             normed);
    kernels().rms_norm_again(qkv + keys, flat + key_weight_, inverse_rms + query_heads_, key_heads_,
                             head_dim_, normed + keys);
    std::copy(qkv + normed_width(), qkv + row_width_, normed + normed_width());
    qkv += row_width_;
    normed += row_width_;
    inverse_rms += heads();
  }
}

void HeadNorm::backward(const float* flat, float* flat_gradients, std::int64_t tokens,
                        const float* qkv, const float* inverse_rms, float* d_qkv) {
  const auto keys = query_heads_ * head_dim_;
  d_normed_.resize(static_cast<std::size_t>(normed_width()));
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::copy_n(d_qkv, normed_width(), d_normed_.data());
    std::fill_n(d_qkv, normed_width(), 0.0F);
    kernels().rms_norm_backward(d_normed_.data(), qkv, flat + query_weight_, inverse_rms,
                                query_heads_, head_dim_, d_qkv, flat_gradients + query_weight_);
    kernels().rms_norm_backward(d_normed_.data() + keys, qkv + keys, flat + key_weight_,
                                inverse_rms + query_heads_, key_heads_, head_dim_, d_qkv + keys,
                                flat_gradients + key_weight_);
    qkv += row_width_;
    d_qkv += row_width_;
    inverse_rms += heads();
  }
}

}  // namespace physarum::model
