#include "advantages.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace physarum::training {
namespace {

using sample::SampleSummary;
using Members = std::vector<std::size_t>;

constexpr double std_floor = 1e-6;
constexpr double whitening_floor = 1e-8;

std::map<base::GroupId, Members> members_by_group(std::span<const SampleSummary> samples) {
  std::map<base::GroupId, Members> groups;
  for (std::size_t i = 0; i < samples.size(); ++i) groups[samples[i].group].push_back(i);
  // Sums run in the order of sample ids, so the result does not depend on the order given.
  for (auto& [id, members] : groups) {
    std::sort(members.begin(), members.end(),
              [&](std::size_t a, std::size_t b) { return samples[a].id < samples[b].id; });
  }
  return groups;
}

double unbiased_deviation(const std::vector<double>& values, const Members& members) {
  double squares = 0;
  for (const std::size_t i : members) squares += values[i] * values[i];
  return std::sqrt(squares / static_cast<double>(members.size() - 1));
}

void centre(std::vector<double>& values, const Members& members) {
  const auto [low, high] =
      std::minmax_element(members.begin(), members.end(),
                          [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  // Equal rewards give exactly 0: the rounding error of their mean would be blown up by 1 / 1e-6.
  const bool equal = values[*low] == values[*high];
  double sum = 0;
  for (const std::size_t i : members) sum += values[i];
  const double mean = sum / static_cast<double>(members.size());
  for (const std::size_t i : members) values[i] = equal ? 0 : values[i] - mean;
}

void normalise_group(std::vector<double>& values, const Members& members,
                     const LossOptions& options) {
  centre(values, members);
  if (options.disable_grpo_std_normalization || members.size() < 2) return;
  const double deviation = unbiased_deviation(values, members) + std_floor;
  for (const std::size_t i : members) values[i] /= deviation;
}

/// Mean 0 and variance 1 over all trained tokens.
void whiten(std::vector<double>& values, std::span<const SampleSummary> samples) {
  double tokens = 0;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto count = static_cast<double>(samples[i].trained_tokens);
    tokens += count;
    sum += count * values[i];
  }
  if (tokens < 2) return;
  const double mean = sum / tokens;
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares +=
        static_cast<double>(samples[i].trained_tokens) * (values[i] - mean) * (values[i] - mean);
  }
  const double scale = 1 / std::sqrt(squares / (tokens - 1) + whitening_floor);
  for (double& value : values) value = (value - mean) * scale;
}

}  // namespace

std::vector<double> estimate_advantages(std::span<const SampleSummary> samples,
                                        const LossOptions& options) {
  std::vector<double> advantages(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) advantages[i] = samples[i].reward;
  if (!options.disable_rewards_normalization) {
    for (const auto& [id, members] : members_by_group(samples)) {
      normalise_group(advantages, members, options);
    }
  }
  if (options.normalize_advantages) whiten(advantages, samples);
  return advantages;
}

}  // namespace physarum::training
