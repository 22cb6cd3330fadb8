#pragma once

#include <cmath>
#include <cstdint>

namespace physarum::model {

/// Keys and values of one sequence lie in blocks of this many tokens.
constexpr std::int64_t cache_block_tokens = 16;

/// Where the parts of a cache block lie. Each layer and key-value head has its keys as
/// [head_dim, 16] (so that 16 scores are computed side by side) and its values as [16,
/// value_width], padded with zeros that nobody writes.
struct CacheShape {
  std::int64_t heads;
  std::int64_t key_value_heads;
  std::int64_t head_dim;
  std::int64_t layers;

  [[nodiscard]] std::int64_t value_width() const { return (head_dim + 7) / 8 * 8; }
  [[nodiscard]] std::int64_t key_floats() const { return cache_block_tokens * head_dim; }
  [[nodiscard]] std::int64_t head_floats() const {
    return key_floats() + cache_block_tokens * value_width();
  }
  [[nodiscard]] std::int64_t layer_floats() const { return key_value_heads * head_floats(); }
  [[nodiscard]] std::int64_t block_floats() const { return layers * layer_floats(); }
};

/// One token of a sequence in one layer.
struct CacheRow {
  float* const* blocks;  ///< of its sequence
  std::int64_t layer;
  std::int64_t position;
  /// Attention sees this many positions, its own included; 0: all up to its own.
  std::int64_t window = 0;

  [[nodiscard]] std::int64_t first_seen() const {
    return window > 0 && position >= window ? position - window + 1 : 0;
  }
};

/// Rows of one sequence at consecutive positions.
struct AttendRows {
  CacheRow first;
  std::int64_t count;    ///< at most attention_rows() of the last position + 1
  const float* queries;  ///< rotated and scaled: [count, heads * head_dim]
  std::int64_t query_stride;
  float* out;  ///< [count, heads * head_dim]
  std::int64_t out_stride;
  std::int64_t first_group;  ///< key-value heads to look at, with the query heads that share them
  std::int64_t groups;
};

/// Exponentials are summed in chunks of this many: drawing skips whole chunks.
constexpr std::int64_t exp_chunk = 64;

/// What drawing a token needs of a row of logits.
struct ExpSum {
  float top;   ///< largest logit * scale
  double sum;  ///< of the exponentials: chunk sums added in order
};

/// Log-probability of a token with this logit. Trainers and engines share it and get the same bits.
/// In this order nothing is lost when all logits are large; rounding may lift the log of nearly 1
/// above 0. (Forced inline, since it is compiled for several targets.)
[[nodiscard]] __attribute__((always_inline)) inline float log_prob_of(float logit, float scale,
                                                                      const ExpSum& sums) {
  const float log_prob =
      __builtin_fmaf(logit, scale, -sums.top) - static_cast<float>(std::log(sums.sum));
  return log_prob > 0.0F ? 0.0F : log_prob;
}

/// Loops over single tokens, for one thread: what becomes of a row depends on nothing else, and all
/// sums have an order that depends on the position alone. One table for each target.
struct DecodeKernels {
  const char* target;

  /// y = x / sqrt(mean(x^2) + epsilon) * weight, row by row.
  void (*rms_norm)(const float* x, const float* weight, float epsilon, std::int64_t rows,
                   std::int64_t width, float* y);
  /// Each row of gate_up is gate [width] and up [width]; y = gate * sigmoid(gate) * up.
  void (*swiglu)(const float* gate_up, std::int64_t rows, std::int64_t width, float* y);

  /// Rotates and scales the query heads of `qkv` in place, rotates its key heads into the cache and
  /// copies its value heads there. Angles of the position: [head_dim / 2] each.
  void (*store_token)(const CacheShape& shape, const CacheRow& row, const float* cosines,
                      const float* sines, float* qkv);
  /// Attention of each row's query heads to its positions first_seen() ... position; keys and
  /// values of all rows are stored. `scratch` holds attention_scratch() floats.
  void (*attend)(const CacheShape& shape, const AttendRows& rows, float* scratch);

  /// exponentials[i] = e^(logits[i] * scale - top), top = max(logits) * scale; chunk_sums[c] is the
  /// sum of exponentials 64 c ... 64 c + 63.
  ExpSum (*exponentials)(const float* logits, std::int64_t count, float scale, float* exponentials,
                         float* chunk_sums);
};

/// Most rows of one sequence that go together.
constexpr std::int64_t most_attention_rows = 48;
/// So many of a sequence of `tokens` tokens do: with their heads they share what is loaded, and
/// their scores stay in the second cache.
[[nodiscard]] std::int64_t attention_rows(const CacheShape& shape, std::int64_t tokens);
/// Floats of scratch memory for attention of a sequence of up to `tokens` tokens.
[[nodiscard]] std::int64_t attention_scratch(const CacheShape& shape, std::int64_t tokens);

/// The table for cpu_target().
[[nodiscard]] const DecodeKernels& decode_kernels();
/// For every processor.
[[nodiscard]] const DecodeKernels& baseline_decode_kernels();
/// Null if this build or this processor has no AVX2 or AVX-512.
[[nodiscard]] const DecodeKernels* avx2_decode_kernels();
[[nodiscard]] const DecodeKernels* avx512_decode_kernels();

}  // namespace physarum::model
