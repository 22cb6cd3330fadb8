#include "gradient_norm.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace physarum::training {

double global_norm(std::span<const float> gradients) {
  // Independent sums, which the compiler can put into vector registers without reordering any.
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  const std::size_t whole = gradients.size() / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto g = static_cast<double>(gradients[i + lane]);
      sums[lane] += g * g;
    }
  }
  for (std::size_t i = whole; i < gradients.size(); ++i) {
    const auto g = static_cast<double>(gradients[i]);
    sums[i - whole] += g * g;
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

double clip_scale(double norm, double limit) {
  constexpr double guard = 1e-6;
  if (limit <= 0) return 1;
  const double scale = limit / (norm + guard);
  return scale < 1 ? scale : 1;
}

}  // namespace physarum::training
