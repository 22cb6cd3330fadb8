// Kernels for AVX2 and for AVX-512 give the same bits: a run may go on, or be repeated, on the
// other kind of processor. Skipped where the processor lacks one of them.

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/model/decode_kernels.hpp"
#include "physarum/model/gemm.hpp"

#include "gemm_kernels.hpp"
#include "kernels.hpp"
#include "model/random_values.hpp"

namespace physarum::model {
namespace {

using Values = std::vector<float>;

/// Rotation angles of `count` pairs.
struct Angles {
  explicit Angles(std::int64_t count) : cosines(as_size(count)), sines(as_size(count)) {
    for (std::size_t i = 0; i < cosines.size(); ++i) {
      cosines[i] = std::cos(0.37F * static_cast<float>(i));
      sines[i] = std::sin(0.37F * static_cast<float>(i));
    }
  }
  Values cosines, sines;
};

class SameBits : public testing::Test {
 protected:
  void SetUp() override {
    if (avx512_kernels() == nullptr) GTEST_SKIP() << "this processor has no AVX-512";
  }
};

const std::int64_t widths[] = {1, 7, 8, 9, 15, 16, 17, 24, 31, 33, 128, 577};

Values norms(const Kernels& table, std::int64_t width) {
  const auto x = random_values(3 * width, 1);
  const auto weight = random_values(width, 2);
  const auto dy = random_values(3 * width, 3);
  Values y(x.size()), again(x.size()), rms(3), dx = random_values(3 * width, 4), dw(as_size(width));
  table.rms_norm(x.data(), weight.data(), 1e-6F, 3, width, y.data(), rms.data());
  table.rms_norm_again(x.data(), weight.data(), rms.data(), 3, width, again.data());
  table.rms_norm_backward(dy.data(), x.data(), weight.data(), rms.data(), 3, width, dx.data(),
                          dw.data());
  table.add_bias(weight.data(), 3, width, width, y.data());
  table.add_row_sums(dy.data(), 3, width, width, dw.data());
  Values all;
  for (const auto* part : {&y, &again, &rms, &dx, &dw}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

TEST_F(SameBits, norms) {
  for (const auto width : widths) {
    EXPECT_EQ(norms(*avx2_kernels(), width), norms(*avx512_kernels(), width)) << width;
  }
}

Values gates(const Kernels& table, std::int64_t width) {
  Values gate_up = random_values(4 * width, 5, 8.0);
  Values y(as_size(2 * width)), dy = random_values(2 * width, 6);
  table.swiglu(gate_up.data(), 2, width, y.data());
  table.swiglu_backward(gate_up.data(), 2, width, dy.data());
  for (const auto* part : {&gate_up, &dy}) y.insert(y.end(), part->begin(), part->end());
  return y;
}

TEST_F(SameBits, gates) {
  for (const auto width : widths) {
    EXPECT_EQ(gates(*avx2_kernels(), width), gates(*avx512_kernels(), width)) << width;
  }
}

Values scores(const Kernels& table, std::int64_t vocab) {
  Values logits = random_values(2 * vocab, 7, 6.0);
  const std::vector<std::int32_t> targets{0, static_cast<std::int32_t>(vocab - 1)};
  const ScoreShape shape{2, vocab, 1.3F, targets.data()};
  Values log_probs(2), log_sums(2), entropies(2);
  const Values d_log_probs{0.5F, -2.0F}, d_entropies{0.25F, 0.0F};
  table.token_scores(shape, logits.data(), log_probs.data(), log_sums.data(), entropies.data());
  table.token_scores_backward(shape, log_sums.data(), d_log_probs.data(), d_entropies.data(),
                              logits.data());
  for (const auto* part : {&log_probs, &log_sums, &entropies}) {
    logits.insert(logits.end(), part->begin(), part->end());
  }
  return logits;
}

TEST_F(SameBits, scores) {
  for (const auto vocab : widths) {
    EXPECT_EQ(scores(*avx2_kernels(), vocab), scores(*avx512_kernels(), vocab)) << vocab;
  }
}

Values attention(const Kernels& table, std::int64_t tokens, std::int64_t head_dim,
                 std::int64_t window) {
  const Angles angles(tokens * head_dim / 2);
  const AttentionShape shape{tokens, 6, 2, head_dim, angles.cosines.data(), angles.sines.data(),
                             window};
  const auto qkv = random_values(tokens * shape.row_width(), 8);
  const auto d_out = random_values(tokens * 6 * head_dim, 9);
  Values out(d_out.size()), log_sums(as_size(6 * tokens)), d_qkv(qkv.size()),
      scratch(as_size(table.attention_scratch(shape)));
  table.attention(shape, qkv.data(), out.data(), log_sums.data(), scratch.data());
  table.attention_backward(shape, qkv.data(), out.data(), log_sums.data(), d_out.data(),
                           d_qkv.data(), scratch.data());
  for (const auto* part : {&log_sums, &d_qkv}) out.insert(out.end(), part->begin(), part->end());
  return out;
}

TEST_F(SameBits, attention) {
  for (const std::int64_t tokens : {1, 15, 17, 33, 50}) {
    for (const std::int64_t head_dim : {2, 16, 22, 32, 64}) {
      for (const std::int64_t window : {0, 5, 18}) {
        EXPECT_EQ(attention(*avx2_kernels(), tokens, head_dim, window),
                  attention(*avx512_kernels(), tokens, head_dim, window))
            << tokens << " tokens, head_dim " << head_dim << ", window " << window;
      }
    }
  }
}

/// Strip by strip, as multiply_packed() does.
template <class Weight>
Values product(void (*multiply)(const StripTaskOf<Weight>&), const PackedMatrix& w,
               const Weight* weights, std::int64_t rows, SumStart start) {
  const auto x = random_values(rows * w.in(), 10);
  const auto bias = random_values(w.out(), 11);
  Values y = random_values(rows * w.out(), 12);
  for (std::int64_t column = 0; column < w.out(); column += gemm_strip_columns) {
    multiply({.x = x.data(),
              .rows = rows,
              .tile_stride = gemm_tile_rows * w.in(),
              .row_stride = w.in(),
              .step = 1,
              .weights = weights + w.place(column, 0),
              .width = w.strip_width(column),
              .next = weights,
              .columns = std::min(gemm_strip_columns, w.out() - column),
              .depth = w.in(),
              .start = start,
              .bias = bias.data() + column,
              .y = y.data() + column,
              .y_stride = w.out()});
  }
  return y;
}

TEST_F(SameBits, products) {
  for (const std::int64_t out : {1, 16, 40, 48, 97, 160}) {
    Values eighths = random_values(out * 29, 13);
    for (auto& value : eighths) value = std::round(value * 8) / 8;  // few bits
    PackedMatrix w(out, 29);
    PackedMatrix halves(out, 29, Storage::bf16);
    w.pack(0, out, random_values(out * 29, 13).data(), 29);
    halves.pack(0, out, eighths.data(), 29);
    const auto& avx2 = *avx2_gemm_kernels();
    const auto& avx512 = *avx512_gemm_kernels();
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 11, 12, 25}) {
      for (const auto start : {SumStart::zero, SumStart::bias, SumStart::result}) {
        EXPECT_EQ(product(avx2.multiply_strip, w, w.floats(), rows, start),
                  product(avx512.multiply_strip, w, w.floats(), rows, start))
            << rows << " rows, " << out << " columns";
        EXPECT_EQ(product(avx2.multiply_half_strip, halves, halves.halves(), rows, start),
                  product(avx512.multiply_half_strip, halves, halves.halves(), rows, start))
            << rows << " rows, " << out << " columns of bf16";
      }
    }
  }
}

Values interleaved(const GemmKernels& table, std::int64_t lines, bool side_by_side) {
  const std::int64_t depth = 21;
  const auto from = random_values(lines * depth, 14);
  const LineBlock block{from.data(), side_by_side ? 1 : depth, side_by_side ? lines : 1, lines,
                        depth};
  const std::int64_t width = (lines + 15) / 16 * 16;
  Values left(as_size((lines + gemm_tile_rows) * depth + interleave_slack)),
      right(as_size(width * depth));
  table.interleave_left(block, left.data());
  table.interleave_right(block, right.data(), width);
  // The slack behind the last tile holds anything.
  left.resize(as_size((lines + gemm_tile_rows - 1) / gemm_tile_rows * gemm_tile_rows * depth));
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

TEST_F(SameBits, interleaved_lines) {
  for (const std::int64_t lines : {1, 6, 7, 16, 31, 40}) {
    for (const bool side_by_side : {false, true}) {
      EXPECT_EQ(interleaved(*avx2_gemm_kernels(), lines, side_by_side),
                interleaved(*avx512_gemm_kernels(), lines, side_by_side))
          << lines;
    }
  }
}

/// A sequence is stored token by token; the last one attends to all.
Values decoded(const DecodeKernels& table, const CacheShape& shape, std::int64_t tokens,
               std::int64_t window) {
  const Angles angles(shape.head_dim / 2);
  const auto n_blocks = (tokens + cache_block_tokens - 1) / cache_block_tokens;
  std::vector<Values> memory(as_size(n_blocks), Values(as_size(shape.block_floats())));
  std::vector<float*> blocks;
  for (auto& block : memory) blocks.push_back(block.data());
  Values qkv;
  for (std::int64_t t = 0; t < tokens; ++t) {
    qkv = random_values((shape.heads + 2 * shape.key_value_heads) * shape.head_dim,
                        static_cast<std::uint64_t>(100 + t));
    table.store_token(shape, {blocks.data(), 1, t}, angles.cosines.data(), angles.sines.data(),
                      qkv.data());
  }
  Values out(as_size(shape.heads * shape.head_dim)),
      scratch(as_size(attention_scratch(shape, tokens)));
  table.attend(shape,
               {.first = {blocks.data(), 1, tokens - 1, window},
                .count = 1,
                .queries = qkv.data(),
                .query_stride = 0,
                .out = out.data(),
                .out_stride = 0,
                .first_group = 0,
                .groups = shape.key_value_heads},
               scratch.data());
  out.insert(out.end(), qkv.begin(), qkv.end());
  return out;
}

TEST_F(SameBits, decoding) {
  for (const std::int64_t tokens : {1, 16, 17, 40, 150}) {
    for (const std::int64_t head_dim : {6, 16, 24, 32, 64}) {
      for (const std::int64_t window : {0, 20}) {
        const CacheShape shape{.heads = 7, .key_value_heads = 1, .head_dim = head_dim, .layers = 2};
        EXPECT_EQ(decoded(*avx2_decode_kernels(), shape, tokens, window),
                  decoded(*avx512_decode_kernels(), shape, tokens, window))
            << tokens << " tokens, head_dim " << head_dim << ", window " << window;
      }
    }
  }
}

Values exponentials(const DecodeKernels& table, std::int64_t count) {
  const auto logits = random_values(count, 15, 9.0);
  Values e(logits.size()), chunks(as_size((count + exp_chunk - 1) / exp_chunk));
  const auto sum = table.exponentials(logits.data(), count, 0.7F, e.data(), chunks.data());
  e.push_back(sum.top);
  e.push_back(static_cast<float>(sum.sum));
  e.insert(e.end(), chunks.begin(), chunks.end());
  return e;
}

TEST_F(SameBits, exponentials) {
  for (const auto count : widths) {
    EXPECT_EQ(exponentials(*avx2_decode_kernels(), count),
              exponentials(*avx512_decode_kernels(), count))
        << count;
  }
}

}  // namespace
}  // namespace physarum::model
