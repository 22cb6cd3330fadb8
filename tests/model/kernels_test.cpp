#include "kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "model/random_values.hpp"

namespace physarum::model {
namespace {

/// Each table that this machine can run.
class EachKernels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (table() == nullptr) GTEST_SKIP() << "this processor has no " << GetParam();
  }
  [[nodiscard]] const Kernels* table() const {
    const std::string target = GetParam();
    if (target == "avx512") return avx512_kernels();
    return target == "avx2" ? avx2_kernels() : &baseline_kernels();
  }
};

TEST_P(EachKernels, swiglu_is_accurate_to_a_millionth_over_the_whole_range) {
  const std::int64_t width = 4001;
  std::vector<float> gate_up(static_cast<std::size_t>(2 * width), 1.0F);
  for (std::int64_t i = 0; i < width; ++i) {
    gate_up[static_cast<std::size_t>(i)] = static_cast<float>(i - 2000) * 0.05F;
  }
  std::vector<float> y(static_cast<std::size_t>(width));
  table()->swiglu(gate_up.data(), 1, width, y.data());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double gate = gate_up[i];
    const double expected = gate / (1 + std::exp(-gate));
    EXPECT_NEAR(y[i], expected, 1e-6 * std::abs(expected) + 1e-35) << gate;
  }
}

TEST_P(EachKernels, token_scores_are_those_of_double_precision) {
  const std::int64_t vocab = 37;
  const std::int64_t rows = 5;
  const auto logits = random_values(rows * vocab, 1, 8.0);
  const std::vector<std::int32_t> targets{0, 36, 5, 7, 31};
  const float inverse_temperature = 1.25F;
  std::vector<float> log_probs(5);
  std::vector<float> log_sums(5);
  std::vector<float> entropies(5);
  table()->token_scores({rows, vocab, inverse_temperature, targets.data()}, logits.data(),
                        log_probs.data(), log_sums.data(), entropies.data());
  for (std::size_t r = 0; r < 5; ++r) {
    const float* row = logits.data() + static_cast<std::int64_t>(r) * vocab;
    double sum = 0;
    for (int v = 0; v < vocab; ++v) sum += std::exp(1.25 * row[v]);
    double entropy = 0;
    for (int v = 0; v < vocab; ++v) {
      const double log_p = 1.25 * row[v] - std::log(sum);
      entropy -= std::exp(log_p) * log_p;
    }
    EXPECT_NEAR(log_probs[r], 1.25 * row[targets[r]] - std::log(sum), 5e-6);
    EXPECT_NEAR(entropies[r], entropy, 5e-6);
  }
}

TEST_P(EachKernels, token_scores_survive_huge_logits) {
  const std::vector<float> logits{1e4F, -1e4F, 9.99e3F, 0.0F};
  const std::int32_t target = 0;
  float log_prob = 0;
  float log_sum = 0;
  float entropy = 0;
  table()->token_scores({1, 4, 1.0F, &target}, logits.data(), &log_prob, &log_sum, &entropy);
  EXPECT_NEAR(log_prob, -std::exp(-10.0), 1e-6);
  EXPECT_TRUE(std::isfinite(entropy));
}

TEST_P(EachKernels, what_is_not_a_number_stays_visible) {
  auto logits = random_values(20, 2);
  const std::int32_t target = 3;
  for (const std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{19}}) {
    auto broken = logits;
    broken[at] = std::numeric_limits<float>::quiet_NaN();
    float log_prob = 0;
    float log_sum = 0;
    table()->token_scores({1, 20, 1.0F, &target}, broken.data(), &log_prob, &log_sum, nullptr);
    EXPECT_TRUE(std::isnan(log_prob)) << at;
  }
}

TEST_P(EachKernels, rms_norm_scales_to_unit_mean_square) {
  const std::int64_t width = 19;
  const auto x = random_values(2 * width, 3, 4.0);
  const std::vector<float> weight(static_cast<std::size_t>(width), 1.0F);
  std::vector<float> y(x.size());
  std::vector<float> again(x.size());
  float inverse_rms[2];
  table()->rms_norm(x.data(), weight.data(), 1e-12F, 2, width, y.data(), inverse_rms);
  for (int row = 0; row < 2; ++row) {
    double squares = 0;
    for (int i = 0; i < width; ++i) {
      const double value = y[static_cast<std::size_t>(row * width + i)];
      squares += value * value;
    }
    EXPECT_NEAR(squares / static_cast<double>(width), 1.0, 1e-5);
  }
  table()->rms_norm_again(x.data(), weight.data(), inverse_rms, 2, width, again.data());
  EXPECT_EQ(again, y);
}

struct AttentionCase {
  explicit AttentionCase(std::int64_t tokens, std::int64_t heads, std::int64_t groups,
                         std::int64_t head_dim, std::int64_t window = 0)
      : cosines(static_cast<std::size_t>(tokens * head_dim / 2)),
        sines(cosines.size()),
        shape{tokens, heads, groups, head_dim, nullptr, nullptr, window} {
    for (std::size_t i = 0; i < cosines.size(); ++i) {
      cosines[i] = std::cos(0.37F * static_cast<float>(i));
      sines[i] = std::sin(0.37F * static_cast<float>(i));
    }
    shape.cosines = cosines.data();
    shape.sines = sines.data();
    qkv = random_values(tokens * shape.row_width(), 4);
  }
  /// Rotated element of a head that starts at `column`.
  [[nodiscard]] double rotated(std::int64_t token, std::int64_t column, std::int64_t d) const {
    const auto half = shape.head_dim / 2;
    const float* x = qkv.data() + token * shape.row_width() + column;
    const auto at = static_cast<std::size_t>(token * half + d % half);
    const double sign = d < half ? -1.0 : 1.0;
    return double{x[d]} * cosines[at] + sign * double{x[(d + half) % shape.head_dim]} * sines[at];
  }
  /// softmax(q k / sqrt(head_dim)) v in double precision, the plain way.
  [[nodiscard]] double output(std::int64_t token, std::int64_t head, std::int64_t d) const {
    const auto group = head / (shape.heads / shape.key_value_heads);
    const auto key = (shape.heads + group) * shape.head_dim;
    const auto value = key + shape.key_value_heads * shape.head_dim;
    double sum = 0;
    double weighted = 0;
    const auto first = shape.window > 0 ? std::max<std::int64_t>(0, token + 1 - shape.window) : 0;
    for (std::int64_t j = first; j <= token; ++j) {
      double score = 0;
      for (std::int64_t i = 0; i < shape.head_dim; ++i) {
        score += rotated(token, head * shape.head_dim, i) * rotated(j, key, i);
      }
      const double e = std::exp(score / std::sqrt(static_cast<double>(shape.head_dim)));
      sum += e;
      weighted += e * qkv[static_cast<std::size_t>(j * shape.row_width() + value + d)];
    }
    return weighted / sum;
  }
  std::vector<float> cosines;
  std::vector<float> sines;
  AttentionShape shape;
  std::vector<float> qkv;
};

/// Outputs and, behind them, log sums.
std::vector<float> attend(const Kernels& table, const AttentionCase& c) {
  const auto outputs = c.shape.tokens * c.shape.heads * c.shape.head_dim;
  std::vector<float> result(static_cast<std::size_t>(outputs + c.shape.tokens * c.shape.heads));
  std::vector<float> scratch(static_cast<std::size_t>(table.attention_scratch(c.shape)));
  table.attention(c.shape, c.qkv.data(), result.data(), result.data() + outputs, scratch.data());
  return result;
}

void expect_double_precision(const Kernels& table, const AttentionCase& c) {
  const auto out = attend(table, c);
  const auto width = c.shape.heads * c.shape.head_dim;
  for (std::int64_t t = 0; t < c.shape.tokens; ++t) {
    for (std::int64_t i = 0; i < width; ++i) {
      ASSERT_NEAR(out[static_cast<std::size_t>(t * width + i)],
                  c.output(t, i / c.shape.head_dim, i % c.shape.head_dim), 2e-5)
          << c.shape.tokens << " tokens, head_dim " << c.shape.head_dim << ", window "
          << c.shape.window << ", token " << t << ", " << i;
    }
  }
}

TEST_P(EachKernels, attention_is_that_of_double_precision) {
  for (const std::int64_t tokens : {1, 15, 16, 17, 40}) {
    for (const std::int64_t head_dim : {2, 16, 22}) {
      expect_double_precision(*table(), AttentionCase(tokens, 6, 2, head_dim));
    }
  }
}

TEST_P(EachKernels, attention_sees_its_window_only) {
  for (const std::int64_t tokens : {1, 16, 47, 90}) {
    for (const std::int64_t window : {1, 2, 15, 16, 17, 31, 33, 64, 100}) {
      expect_double_precision(*table(), AttentionCase(tokens, 4, 2, 6, window));
    }
  }
}

TEST_P(EachKernels, a_window_that_nobody_feels_changes_no_bit) {
  EXPECT_EQ(attend(*table(), AttentionCase(40, 4, 2, 6, 40)),
            attend(*table(), AttentionCase(40, 4, 2, 6)));
}

INSTANTIATE_TEST_SUITE_P(Targets, EachKernels, testing::Values("baseline", "avx2", "avx512"),
                         [](const auto& target) { return std::string(target.param); });

}  // namespace
}  // namespace physarum::model
