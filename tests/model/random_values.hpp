#pragma once

#include <cstdint>
#include <vector>

#include "physarum/base/philox.hpp"

namespace physarum::model {

inline std::size_t as_size(std::int64_t value) { return static_cast<std::size_t>(value); }

/// Normal values, others for each item.
inline std::vector<float> random_values(std::int64_t count, std::uint64_t item,
                                        double scale = 1.0) {
  const base::RandomStream stream(11, base::StreamKind::test);
  std::vector<float> values(as_size(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(scale * stream.normal(item, static_cast<std::uint32_t>(i)));
  }
  return values;
}

}  // namespace physarum::model
