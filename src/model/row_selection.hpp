#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace physarum::model {

/// Copies the rows with these numbers behind one another.
inline void gather_rows(const float* from, std::span<const std::int64_t> rows, std::int64_t width,
                        float* to) {
  for (const auto row : rows) to = std::copy_n(from + row * width, width, to);
}

/// The other way round; all other rows become zeros.
inline void scatter_rows(const float* from, std::span<const std::int64_t> rows, std::int64_t width,
                         std::int64_t all_rows, float* to) {
  std::fill_n(to, all_rows * width, 0.0F);
  for (const auto row : rows) {
    std::copy_n(from, width, to + row * width);
    from += width;
  }
}

}  // namespace physarum::model
