#include "physarum/model/gemm.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/philox.hpp"

#include "gemm_kernels.hpp"

namespace physarum::model {
namespace {

std::vector<float> random_matrix(std::int64_t count, std::uint64_t item) {
  const base::RandomStream stream(7, base::StreamKind::test);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(stream.uniform(item, static_cast<std::uint32_t>(i)) - 0.5);
  }
  return values;
}

struct Problem {
  std::int64_t rows, out, in;
  std::vector<float> x = random_matrix(rows * in, 1);
  std::vector<float> w = random_matrix(out * in, 2);
  std::vector<float> bias = random_matrix(out, 3);
  std::vector<float> before = random_matrix(rows * out, 4);

  [[nodiscard]] double exact(std::int64_t row, std::int64_t column) const {
    double sum = 0;
    for (std::int64_t k = 0; k < in; ++k) {
      sum += static_cast<double>(x[static_cast<std::size_t>(row * in + k)]) *
             static_cast<double>(w[static_cast<std::size_t>(column * in + k)]);
    }
    return sum;
  }
  [[nodiscard]] PackedMatrix packed() const {
    PackedMatrix matrix(out, in);
    matrix.pack(0, out, w.data(), in);
    return matrix;
  }
};

/// Largest difference between y and exact + start.
double error_of(const Problem& p, const std::vector<float>& y, const std::vector<float>* start,
                std::int64_t start_stride) {
  double worst = 0;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    for (std::int64_t column = 0; column < p.out; ++column) {
      double expected = p.exact(row, column);
      if (start != nullptr) {
        expected +=
            static_cast<double>((*start)[static_cast<std::size_t>(row * start_stride + column)]);
      }
      const auto got = static_cast<double>(y[static_cast<std::size_t>(row * p.out + column)]);
      worst = std::max(worst, std::abs(got - expected));
    }
  }
  return worst;
}

constexpr double tolerance = 2e-5;

const std::vector<Problem>& problems() {
  static const std::vector<Problem> all{{1, 1, 1},    {1, 70, 33},    {2, 100, 300}, {3, 35, 128},
                                        {5, 48, 513}, {64, 256, 128}, {200, 31, 40}};
  return all;
}

TEST(Gemm, packed_product_matches_double_reference) {
  for (const auto& p : problems()) {
    std::vector<float> y(p.before.size());
    multiply_packed({p.x.data(), p.rows, p.in}, p.packed(), {y.data(), p.out});
    EXPECT_LT(error_of(p, y, nullptr, 0), tolerance) << p.rows << " " << p.out << " " << p.in;
  }
}

TEST(Gemm, packed_product_starts_from_bias_or_from_result) {
  for (const auto& p : problems()) {
    std::vector<float> y(p.before.size());
    multiply_packed({p.x.data(), p.rows, p.in}, p.packed(), {y.data(), p.out}, Update::replace,
                    p.bias.data());
    EXPECT_LT(error_of(p, y, &p.bias, 0), tolerance);
    y = p.before;
    multiply_packed({p.x.data(), p.rows, p.in}, p.packed(), {y.data(), p.out}, Update::add);
    EXPECT_LT(error_of(p, y, &p.before, p.out), tolerance);
  }
}

TEST(Gemm, packed_product_respects_strides) {
  const Problem p{7, 20, 24};
  std::vector<float> x(7 * 30, 99.0F);
  std::vector<float> y(7 * 25, -1.0F);
  for (std::size_t row = 0; row < 7; ++row) {
    std::memcpy(&x[row * 30], &p.x[row * 24], 24 * sizeof(float));
  }
  multiply_packed({x.data(), 7, 30}, p.packed(), {y.data(), 25});
  for (std::int64_t row = 0; row < 7; ++row) {
    for (std::int64_t c = 0; c < 25; ++c) {
      const double expected = c < 20 ? p.exact(row, c) : -1.0;
      EXPECT_NEAR(static_cast<double>(y[static_cast<std::size_t>(row * 25 + c)]), expected,
                  tolerance);
    }
  }
}

TEST(Gemm, a_row_has_the_same_bits_in_every_batch) {
  for (const auto& [out, in] : {std::pair{256L, 128L}, {1024L, 300L}, {37L, 512L}}) {
    const Problem p{400, out, in};
    const auto w = p.packed();
    std::vector<float> alone(static_cast<std::size_t>(out));
    std::vector<float> y(p.before.size());
    for (std::int64_t rows = 1; rows <= p.rows; rows = rows < 30 ? rows + 1 : rows + 37) {
      multiply_packed({p.x.data(), rows, in}, w, {y.data(), out}, Update::replace, p.bias.data());
      for (std::int64_t row = 0; row < rows; ++row) {
        multiply_packed({p.x.data() + row * in, 1, in}, w, {alone.data(), out}, Update::replace,
                        p.bias.data());
        ASSERT_EQ(0, std::memcmp(alone.data(), &y[static_cast<std::size_t>(row * out)],
                                 alone.size() * sizeof(float)))
            << "row " << row << " of " << rows;
      }
    }
  }
}

/// What bf16 holds of them.
std::vector<float> cut(std::vector<float> values) {
  for (auto& value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    bits &= 0xFFFF0000U;
    std::memcpy(&value, &bits, sizeof bits);
  }
  return values;
}

TEST(Gemm, weights_kept_in_bf16_give_the_same_bits) {
  for (const auto& [out, in] : {std::pair{16L, 1L}, {97L, 300L}, {200L, 513L}, {37L, 64L}}) {
    Problem p{60, out, in};
    p.w = cut(p.w);
    PackedMatrix halves(out, in, Storage::bf16);
    const auto first = std::min<std::int64_t>(out, 21);  // whole panels and single rows
    halves.pack(0, first, p.w.data(), in);
    halves.pack(first, out - first, p.w.data() + first * in, in);
    const auto floats = p.packed();
    for (const std::int64_t rows : {1, 2, 3, 5, 6, 7, 60}) {
      for (const auto update : {Update::replace, Update::add}) {
        const float* bias = update == Update::replace ? p.bias.data() : nullptr;
        std::vector<float> expected = p.before;
        std::vector<float> y = p.before;
        multiply_packed({p.x.data(), rows, in}, floats, {expected.data(), out}, update, bias);
        multiply_packed({p.x.data(), rows, in}, halves, {y.data(), out}, update, bias);
        EXPECT_EQ(y, expected) << rows << " rows, " << out << " x " << in;
      }
    }
  }
}

TEST(Gemm, bf16_does_not_round) {
  const std::vector<float> w(16 * 4, 1.001F);
  PackedMatrix halves(16, 4, Storage::bf16);
  EXPECT_THROW(halves.pack(0, 16, w.data(), 4), base::ContractViolation);
}

TEST(Gemm, packing_in_parts_equals_packing_at_once) {
  const Problem p{9, 50, 20};
  PackedMatrix parts(p.out, p.in);
  parts.pack(0, 13, p.w.data(), p.in);
  parts.pack(13, 37, p.w.data() + 13 * p.in, p.in);
  std::vector<float> y(p.before.size());
  multiply_packed({p.x.data(), p.rows, p.in}, parts, {y.data(), p.out});
  EXPECT_LT(error_of(p, y, nullptr, 0), tolerance);
}

TEST(Gemm, a_place_and_its_row_and_column_belong_together) {
  for (const auto& [out, in] : {std::pair{16L, 5L}, {48L, 3L}, {50L, 7L}, {100L, 2L}, {144L, 4L}}) {
    const Problem p{1, out, in};
    const auto matrix = p.packed();
    for (std::int64_t row = 0; row < out; ++row) {
      for (std::int64_t column = 0; column < in; ++column) {
        const auto place = matrix.place(row, column);
        EXPECT_EQ(matrix.floats()[place], p.w[static_cast<std::size_t>(row * in + column)]);
        EXPECT_EQ(matrix.element(place).row, row);
        EXPECT_EQ(matrix.element(place).column, column);
      }
    }
  }
}

std::vector<float> transposed(const std::vector<float>& m, std::int64_t rows) {
  const auto columns = static_cast<std::int64_t>(m.size()) / rows;
  std::vector<float> t(m.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      t[static_cast<std::size_t>(c * rows + r)] = m[static_cast<std::size_t>(r * columns + c)];
    }
  }
  return t;
}

TEST(Gemm, general_product_takes_factors_in_any_orientation) {
  GemmWorkspace workspace;
  for (const auto& p : problems()) {
    const auto x_t = transposed(p.x, p.rows);
    const auto w_t = transposed(p.w, p.out);
    const Factor lefts[] = {{p.x.data(), p.in, 1}, {x_t.data(), 1, p.rows}};
    const Factor rights[] = {{p.w.data(), 1, p.in}, {w_t.data(), p.out, 1}};
    for (const auto& left : lefts) {
      for (const auto& right : rights) {
        std::vector<float> y(p.before.size());
        multiply_general({p.rows, p.out, p.in}, left, right, {y.data(), p.out}, Update::replace,
                         workspace);
        EXPECT_LT(error_of(p, y, nullptr, 0), tolerance);
        y = p.before;
        multiply_general({p.rows, p.out, p.in}, left, right, {y.data(), p.out}, Update::add,
                         workspace);
        EXPECT_LT(error_of(p, y, &p.before, p.out), tolerance);
      }
    }
  }
}

TEST(Gemm, general_product_has_the_bits_of_the_packed_one) {
  const Problem p{50, 300, 600};
  GemmWorkspace workspace;
  std::vector<float> packed(p.before.size());
  std::vector<float> general(p.before.size());
  multiply_packed({p.x.data(), p.rows, p.in}, p.packed(), {packed.data(), p.out});
  multiply_general({p.rows, p.out, p.in}, {p.x.data(), p.in, 1}, {p.w.data(), 1, p.in},
                   {general.data(), p.out}, Update::replace, workspace);
  EXPECT_EQ(packed, general);
}

TEST(Gemm, targets_agree) {
  if (avx2_gemm_kernels() == nullptr) GTEST_SKIP() << "no AVX2 here";
  const Problem p{13, 45, 77};
  const auto w = p.packed();
  std::vector<float> fast(p.before.size());
  std::vector<float> plain(p.before.size());
  StripTask task{.x = p.x.data(),
                 .rows = p.rows,
                 .tile_stride = gemm_tile_rows * p.in,
                 .row_stride = p.in,
                 .step = 1,
                 .weights = w.floats(),
                 .width = w.strip_width(0),
                 .next = w.floats(),
                 .columns = p.out,
                 .depth = p.in,
                 .start = SumStart::bias,
                 .bias = p.bias.data(),
                 .y = fast.data(),
                 .y_stride = p.out};
  avx2_gemm_kernels()->multiply_strip(task);
  task.y = plain.data();
  baseline_gemm_kernels().multiply_strip(task);
  EXPECT_LT(error_of(p, fast, &p.bias, 0), tolerance);
  EXPECT_LT(error_of(p, plain, &p.bias, 0), tolerance);
}

}  // namespace
}  // namespace physarum::model
