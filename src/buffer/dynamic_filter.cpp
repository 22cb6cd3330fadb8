#include "dynamic_filter.hpp"

#include <cmath>

#include "statistics.hpp"

namespace physarum::buffer {

namespace {

constexpr double least_deviation = 1e-6;

double reward_deviation(std::span<const sample::SampleSummary> group) {
  const auto count = static_cast<double>(group.size());
  double sum = 0;
  for (const auto& sample : group) sum += sample.reward;
  const double mean = sum / count;
  double squares = 0;
  for (const auto& sample : group) squares += (sample.reward - mean) * (sample.reward - mean);
  return group.size() < 2 ? 0 : std::sqrt(squares / (count - 1));
}

}  // namespace

std::optional<std::string> reason_to_drop(DynamicFilter filter,
                                          std::span<const sample::SampleSummary> group) {
  if (filter == DynamicFilter::none || group.empty()) return {};
  if (reward_deviation(group) > least_deviation) return {};
  return "zero_std_" + reward_name(group.front().reward);
}

}  // namespace physarum::buffer
