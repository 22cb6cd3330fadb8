#include "gradient_norm.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace physarum::training {
namespace {

TEST(GradientNorm, is_the_euclidean_norm_for_every_length) {
  for (std::size_t n : {0U, 1U, 7U, 8U, 9U, 1000U}) {
    std::vector<float> gradients(n);
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      gradients[i] = static_cast<float>(i) * 0.25F - 1;
      squares += static_cast<double>(gradients[i]) * static_cast<double>(gradients[i]);
    }
    EXPECT_NEAR(global_norm(gradients), std::sqrt(squares), 1e-9);
  }
}

TEST(GradientNorm, survives_values_whose_squares_overflow_floats) {
  EXPECT_NEAR(global_norm(std::vector<float>{3e30F, 4e30F}) / 5e30, 1, 1e-6);
}

TEST(GradientNorm, is_not_finite_if_a_value_is_not) {
  std::vector<float> gradients(20, 1.0F);
  gradients[13] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(std::isfinite(global_norm(gradients)));
  gradients[13] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(std::isfinite(global_norm(gradients)));
}

TEST(ClipScale, shrinks_to_the_limit_and_never_grows) {
  EXPECT_NEAR(clip_scale(4, 1), 0.25, 1e-6);
  EXPECT_EQ(clip_scale(0.5, 1), 1);
  EXPECT_EQ(clip_scale(4, 0), 1);  // off
}

}  // namespace
}  // namespace physarum::training
