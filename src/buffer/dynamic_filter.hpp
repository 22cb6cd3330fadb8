#pragma once

#include <optional>
#include <span>
#include <string>

#include "physarum/sample/batch.hpp"

#include "physarum/buffer/options.hpp"

namespace physarum::buffer {

/// Why the filter wants no such group ("zero_std_1": all its rewards are 1); nothing if it is good.
/// Rewards differ if their standard deviation (unbiased, as slime's) is above 1e-6.
[[nodiscard]] std::optional<std::string> reason_to_drop(
    DynamicFilter filter, std::span<const sample::SampleSummary> group);

/// True if a group that the filter does not want is taken all the same when dropping it would force
/// another draw.
[[nodiscard]] constexpr bool has_fallback(DynamicFilter filter) {
  return filter == DynamicFilter::check_reward_nonzero_std_with_fallback;
}

}  // namespace physarum::buffer
