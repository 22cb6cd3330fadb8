#include "physarum/model/decode_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "model/random_values.hpp"

namespace physarum::model {
namespace {

/// A sequence whose tokens are stored one after the other in one layer of two.
struct Sequence {
  CacheShape shape;
  std::int64_t tokens;
  std::vector<std::vector<float>> memory;
  std::vector<float*> blocks;
  std::vector<std::vector<float>> qkv;      ///< as it was before store_token
  std::vector<std::vector<float>> queries;  ///< after

  Sequence(const CacheShape& cache, std::int64_t count, const DecodeKernels& kernels)
      : shape(cache), tokens(count) {
    for (std::int64_t t = 0; t < tokens; t += cache_block_tokens) {
      // Garbage where nothing has been written must not show.
      memory.emplace_back(as_size(shape.block_floats()), 1e3F);
    }
    for (auto& block : memory) blocks.push_back(block.data());
    const auto width = (shape.heads + 2 * shape.key_value_heads) * shape.head_dim;
    for (std::int64_t t = 0; t < tokens; ++t) {
      qkv.push_back(random_values(width, static_cast<std::uint64_t>(t)));
      queries.push_back(qkv.back());
      const auto angles = angles_of(t);
      kernels.store_token(shape, row(t), angles.data(), angles.data() + shape.head_dim / 2,
                          queries.back().data());
    }
  }
  [[nodiscard]] CacheRow row(std::int64_t position, std::int64_t window = 0) const {
    return {blocks.data(), 1, position, window};
  }
  [[nodiscard]] std::vector<float> angles_of(std::int64_t position) const {
    std::vector<float> values;
    for (const bool cosine : {true, false}) {
      for (std::int64_t d = 0; d < shape.head_dim / 2; ++d) {
        const double angle = 0.3 * static_cast<double>(position * (d + 1));
        values.push_back(static_cast<float>(cosine ? std::cos(angle) : std::sin(angle)));
      }
    }
    return values;
  }
  /// Head `head` of the concatenated query, key and value heads, rotated in double.
  [[nodiscard]] std::vector<double> rotated(std::int64_t position, std::int64_t head) const {
    const auto angles = angles_of(position);
    const auto half = shape.head_dim / 2;
    const float* x = qkv[as_size(position)].data() + head * shape.head_dim;
    std::vector<double> y(as_size(shape.head_dim));
    for (std::int64_t d = 0; d < half; ++d) {
      const double c = static_cast<double>(angles[as_size(d)]);
      const double s = static_cast<double>(angles[as_size(half + d)]);
      const double low = static_cast<double>(x[d]);
      const double high = static_cast<double>(x[d + half]);
      y[as_size(d)] = low * c - high * s;
      y[as_size(d + half)] = high * c + low * s;
    }
    return y;
  }
  [[nodiscard]] std::vector<double> attended(std::int64_t position, std::int64_t head,
                                             std::int64_t window) const {
    const auto kv = head / (shape.heads / shape.key_value_heads);
    const auto query = rotated(position, head);
    std::vector<double> out(as_size(shape.head_dim));
    double sum = 0;
    const auto first = window > 0 ? std::max<std::int64_t>(0, position + 1 - window) : 0;
    for (std::int64_t t = first; t <= position; ++t) {
      const auto key = rotated(t, shape.heads + kv);
      double score = 0;
      for (std::size_t d = 0; d < key.size(); ++d) score += query[d] * key[d];
      const double e = std::exp(score / std::sqrt(static_cast<double>(shape.head_dim)));
      sum += e;
      const float* value =
          qkv[as_size(t)].data() + (shape.heads + shape.key_value_heads + kv) * shape.head_dim;
      for (std::size_t d = 0; d < out.size(); ++d) out[d] += e * static_cast<double>(value[d]);
    }
    for (auto& value : out) value /= sum;
    return out;
  }
};

/// Of rows first, first + 1 ..., together.
std::vector<float> attend(const Sequence& sequence, const DecodeKernels& kernels,
                          std::int64_t first, std::int64_t count, std::int64_t window) {
  const auto& shape = sequence.shape;
  const auto width = shape.heads * shape.head_dim;
  // As they lie behind one another in the rows of a product.
  std::vector<float> queries;
  for (std::int64_t t = first; t < first + count; ++t) {
    const auto& row = sequence.queries[as_size(t)];
    queries.insert(queries.end(), row.begin(), row.end());
  }
  const auto stride = std::ssize(sequence.queries[0]);
  std::vector<float> out(as_size(count * (width + 3)), 7.0F);
  const auto floats = attention_scratch(shape, first + count);
  std::vector<float> scratch(as_size(floats + 1), 1e3F);
  const auto look = [&](std::int64_t first_group, std::int64_t groups, std::vector<float>& to) {
    kernels.attend(shape,
                   {.first = sequence.row(first, window),
                    .count = count,
                    .queries = queries.data(),
                    .query_stride = stride,
                    .out = to.data(),
                    .out_stride = width + 3,
                    .first_group = first_group,
                    .groups = groups},
                   scratch.data());
  };
  std::vector<float> apart = out;
  look(0, shape.key_value_heads, out);
  for (std::int64_t group = 0; group < shape.key_value_heads; ++group) look(group, 1, apart);
  EXPECT_EQ(out, apart) << "heads one after the other, and all together";
  EXPECT_EQ(scratch.back(), 1e3F) << "more scratch memory than was said";
  for (std::int64_t row = count; row-- > 0;) {
    const auto end = out.begin() + row * (width + 3) + width;
    EXPECT_TRUE(std::all_of(end, end + 3, [](float value) { return value == 7.0F; }));
    out.erase(end, end + 3);
  }
  return out;
}

void expect_attention(const CacheShape& shape, std::int64_t tokens, const DecodeKernels& kernels,
                      std::int64_t window = 0) {
  const Sequence sequence(shape, tokens, kernels);
  for (std::int64_t t = 0; t < tokens; t += t < 20 ? 1 : 13) {
    const auto out = attend(sequence, kernels, t, 1, window);
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const auto expected = sequence.attended(t, h, window);
      for (std::size_t d = 0; d < expected.size(); ++d) {
        ASSERT_NEAR(static_cast<double>(out[as_size(h * shape.head_dim) + d]), expected[d], 1e-5)
            << kernels.target << ": head " << h << ", position " << t << ", window " << window;
      }
    }
  }
}

TEST(DecodeKernels, attention_matches_double_reference) {
  for (const auto* kernels :
       {&baseline_decode_kernels(), avx2_decode_kernels(), avx512_decode_kernels()}) {
    if (kernels == nullptr) continue;
    expect_attention({.heads = 4, .key_value_heads = 2, .head_dim = 32, .layers = 2}, 150,
                     *kernels);
    expect_attention({.heads = 7, .key_value_heads = 1, .head_dim = 10, .layers = 2}, 40, *kernels);
    expect_attention({.heads = 3, .key_value_heads = 3, .head_dim = 64, .layers = 2}, 33, *kernels);
    expect_attention({.heads = 12, .key_value_heads = 2, .head_dim = 6, .layers = 2}, 17, *kernels);
  }
}

TEST(DecodeKernels, attention_sees_its_window_only) {
  for (const auto* kernels :
       {&baseline_decode_kernels(), avx2_decode_kernels(), avx512_decode_kernels()}) {
    if (kernels == nullptr) continue;
    for (const std::int64_t window : {1, 7, 16, 17, 32, 50, 200}) {
      expect_attention({.heads = 7, .key_value_heads = 1, .head_dim = 10, .layers = 2}, 90,
                       *kernels, window);
    }
  }
}

TEST(DecodeKernels, a_window_that_nobody_feels_changes_no_bit) {
  const CacheShape shape{.heads = 4, .key_value_heads = 2, .head_dim = 32, .layers = 2};
  const Sequence sequence(shape, 70, decode_kernels());
  EXPECT_EQ(attend(sequence, decode_kernels(), 69, 1, 0),
            attend(sequence, decode_kernels(), 69, 1, 70));
}

void expect_rows_alike(const CacheShape& shape, std::int64_t tokens, const DecodeKernels& kernels,
                       std::int64_t window) {
  const Sequence sequence(shape, tokens, kernels);
  std::vector<float> alone;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto row = attend(sequence, kernels, t, 1, window);
    alone.insert(alone.end(), row.begin(), row.end());
  }
  const auto width = shape.heads * shape.head_dim;
  for (const std::int64_t first : {0, 5, 16, 71}) {
    for (const std::int64_t most : {2, 3, 7, 16, 48}) {
      const auto count = std::min({most, tokens - first, attention_rows(shape, tokens)});
      const auto from = alone.begin() + first * width;
      EXPECT_EQ(attend(sequence, kernels, first, count, window),
                std::vector<float>(from, from + count * width))
          << kernels.target << ": " << count << " rows from " << first << ", window " << window
          << ", " << shape.heads << " heads";
    }
  }
}

TEST(DecodeKernels, rows_that_attend_together_have_the_bits_of_each_alone) {
  for (const auto* kernels :
       {&baseline_decode_kernels(), avx2_decode_kernels(), avx512_decode_kernels()}) {
    if (kernels == nullptr) continue;
    for (const std::int64_t window : {0, 1, 20, 33}) {
      for (const std::int64_t group : {1, 2, 3, 4, 5, 7, 50}) {
        expect_rows_alike({.heads = 2 * group, .key_value_heads = 2, .head_dim = 10, .layers = 2},
                          125, *kernels, window);
      }
      expect_rows_alike({.heads = 3, .key_value_heads = 1, .head_dim = 64, .layers = 2}, 125,
                        *kernels, window);
    }
  }
}

TEST(DecodeKernels, fewer_rows_of_long_sequences_attend_together) {
  const CacheShape shape{.heads = 9, .key_value_heads = 3, .head_dim = 64, .layers = 2};
  EXPECT_EQ(attention_rows(shape, 1), 16);
  EXPECT_EQ(attention_rows(shape, 1024), 16);
  EXPECT_EQ(attention_rows(shape, 4096), 4);
  EXPECT_EQ(attention_rows(shape, 1 << 20), 1);
  EXPECT_EQ(attention_rows({.heads = 64, .key_value_heads = 1, .head_dim = 8, .layers = 1}, 20), 1);
}

TEST(DecodeKernels, exponentials_are_close_to_the_exact_ones_at_any_length) {
  for (const std::int64_t count : {1L, 7L, 64L, 65L, 200L, 512L}) {
    auto logits = random_values(count, 3);
    for (auto& logit : logits) logit *= 20;
    std::vector<float> e(as_size(count));
    std::vector<float> chunks(as_size((count + exp_chunk - 1) / exp_chunk));
    const auto sum =
        decode_kernels().exponentials(logits.data(), count, 0.5F, e.data(), chunks.data());
    double total = 0;
    for (std::size_t i = 0; i < e.size(); ++i) {
      const double depth = double{logits[i] * 0.5F} - double{sum.top};
      const double exact = std::exp(depth);
      total += exact;
      // The depth itself is rounded to fp32.
      EXPECT_NEAR(double{e[i]}, exact, (1e-6 - 1.2e-7 * depth) * exact + 1e-30);
    }
    EXPECT_NEAR(sum.sum, total, 1e-6 * total);
  }
}

TEST(DecodeKernels, targets_agree_on_rows) {
  const std::int64_t width = 45;
  const auto x = random_values(2 * width, 1);
  const auto w = random_values(width, 2);
  std::vector<float> norm(as_size(width));
  std::vector<float> gated(as_size(width));
  baseline_decode_kernels().rms_norm(x.data(), w.data(), 1e-6F, 1, width, norm.data());
  baseline_decode_kernels().swiglu(x.data(), 1, width, gated.data());
  double squares = 0;
  for (std::size_t i = 0; i < as_size(width); ++i) squares += double{x[i]} * double{x[i]};
  const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-6);
  for (std::size_t i = 0; i < as_size(width); ++i) {
    EXPECT_NEAR(double{norm[i]}, double{x[i]} * scale * double{w[i]}, 1e-5);
    const double gate = double{x[i]};
    EXPECT_NEAR(double{gated[i]}, gate / (1 + std::exp(-gate)) * double{x[as_size(width) + i]},
                1e-5);
  }
  if (avx2_decode_kernels() == nullptr) GTEST_SKIP() << "no AVX2 here";
  std::vector<float> fast(as_size(width));
  avx2_decode_kernels()->rms_norm(x.data(), w.data(), 1e-6F, 1, width, fast.data());
  for (std::size_t i = 0; i < fast.size(); ++i) EXPECT_NEAR(fast[i], norm[i], 1e-5F);
  avx2_decode_kernels()->swiglu(x.data(), 1, width, fast.data());
  for (std::size_t i = 0; i < fast.size(); ++i) EXPECT_NEAR(fast[i], gated[i], 1e-5F);
}

}  // namespace
}  // namespace physarum::model
