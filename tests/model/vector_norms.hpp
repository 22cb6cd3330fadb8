#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace physarum::model {

/// Euclidean, summed in fp64.
inline double norm(std::span<const float> a) {
  double sum = 0;
  for (const float value : a) sum += double{value} * double{value};
  return std::sqrt(sum);
}

/// Norm of the difference of two vectors of one size.
inline double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

}  // namespace physarum::model
