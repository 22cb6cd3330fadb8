#pragma once

#include <vector>

#include "physarum/base/ids.hpp"

namespace physarum::app {

/// The layout's ranks as message addresses.
[[nodiscard]] inline std::vector<base::WorldRank> world_ranks(const std::vector<int>& ranks) {
  return {ranks.begin(), ranks.end()};
}

}  // namespace physarum::app
