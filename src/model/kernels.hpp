#pragma once

#include <cstdint>

namespace physarum::model {

/// One sequence's attention. Rows are tokens. `qkv` holds query heads, key heads and value heads
/// side by side before rotation; rotation is part of the kernel.
struct AttentionShape {
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t key_value_heads;
  std::int64_t head_dim;
  const float* cosines;  ///< [tokens, head_dim / 2]
  const float* sines;    ///< [tokens, head_dim / 2]
  /// A token sees itself and the window - 1 tokens before it; 0: all before it.
  std::int64_t window = 0;
  [[nodiscard]] std::int64_t row_width() const { return (heads + 2 * key_value_heads) * head_dim; }
};

/// Temperature and targets of a chunk of logits.
struct ScoreShape {
  std::int64_t rows;
  std::int64_t vocab;
  float inverse_temperature;
  const std::int32_t* targets;  ///< [rows]
};

/// The loops of the transformer that are no matrix products, for one thread. All matrices are
/// row-major and dense unless a stride is given. Each table is one compilation of the same source.
struct Kernels {
  const char* target;

  /// y = x * r * weight with r = 1 / sqrt(mean(x^2) + epsilon); keeps r per row.
  void (*rms_norm)(const float* x, const float* weight, float epsilon, std::int64_t rows,
                   std::int64_t width, float* y, float* inverse_rms);
  /// y again from the r that was kept.
  void (*rms_norm_again)(const float* x, const float* weight, const float* inverse_rms,
                         std::int64_t rows, std::int64_t width, float* y);
  /// Adds to dx [rows, width] and to d_weight [width].
  void (*rms_norm_backward)(const float* dy, const float* x, const float* weight,
                            const float* inverse_rms, std::int64_t rows, std::int64_t width,
                            float* dx, float* d_weight);

  /// Each row of gate_up is gate [width] and up [width]; y = gate * sigmoid(gate) * up.
  void (*swiglu)(const float* gate_up, std::int64_t rows, std::int64_t width, float* y);
  /// In place: gate_up becomes its gradient, dy becomes y.
  void (*swiglu_backward)(float* gate_up, std::int64_t rows, std::int64_t width, float* dy);

  /// Adds bias [width] to every row of y, whose rows are `stride` apart.
  void (*add_bias)(const float* bias, std::int64_t rows, std::int64_t width, std::int64_t stride,
                   float* y);
  /// Adds the sum of the rows of dy to d_bias [width].
  void (*add_row_sums)(const float* dy, std::int64_t rows, std::int64_t width, std::int64_t stride,
                       float* d_bias);

  /// Per row: log-probability of its target, log of the sum of exponentials of the scaled logits,
  /// and, unless `entropies` is null, the entropy.
  void (*token_scores)(const ScoreShape& shape, const float* logits, float* log_probs,
                       float* log_sums, float* entropies);
  /// In place: logits become their gradients. `d_entropies` may be null.
  void (*token_scores_backward)(const ScoreShape& shape, const float* log_sums,
                                const float* d_log_probs, const float* d_entropies, float* logits);

  /// Floats of scratch memory that attention needs for a sequence of this shape.
  std::int64_t (*attention_scratch)(const AttentionShape& shape);
  /// out [tokens, heads * head_dim]; log_sums [heads, tokens] for the way back.
  void (*attention)(const AttentionShape& shape, const float* qkv, float* out, float* log_sums,
                    float* scratch);
  /// d_qkv [tokens, row_width] is overwritten; `out` and `log_sums` are those of attention().
  void (*attention_backward)(const AttentionShape& shape, const float* qkv, const float* out,
                             const float* log_sums, const float* d_out, float* d_qkv,
                             float* scratch);
};

/// The table for cpu_target().
[[nodiscard]] const Kernels& kernels();
/// For every processor; what kernels() is tested against.
[[nodiscard]] const Kernels& baseline_kernels();
/// Null if this build or this processor has no AVX2 or AVX-512.
[[nodiscard]] const Kernels* avx2_kernels();
[[nodiscard]] const Kernels* avx512_kernels();

}  // namespace physarum::model
