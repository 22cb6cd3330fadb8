#include "statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace physarum::buffer {

namespace {

using sample::SampleSummary;
using Samples = std::span<const SampleSummary>;

double mean_of(Samples samples, auto value) {
  double sum = 0;
  for (const auto& sample : samples) sum += static_cast<double>(value(sample));
  return samples.empty() ? 0.0 : sum / static_cast<double>(samples.size());
}

double truncated_ratio(Samples samples) {
  return mean_of(samples, [](const SampleSummary& sample) {
    return sample.status == sample::SampleStatus::truncated ? 1 : 0;
  });
}

void add_lengths(base::Scalars& metrics, const std::string& prefix, Samples samples) {
  if (samples.empty()) return;
  std::vector<double> lengths;
  for (const auto& sample : samples) lengths.push_back(static_cast<double>(sample.response_tokens));
  std::ranges::sort(lengths);
  const std::size_t middle = lengths.size() / 2;
  metrics[prefix + "/mean"] =
      mean_of(samples, [](const SampleSummary& sample) { return sample.response_tokens; });
  metrics[prefix + "/median"] =
      lengths.size() % 2 == 1 ? lengths[middle] : (lengths[middle - 1] + lengths[middle]) / 2;
  metrics[prefix + "/max"] = lengths.back();
  metrics[prefix + "/min"] = lengths.front();
}

/// Calls `visit` with the samples of each group; they follow one another.
void for_groups(Samples samples, auto visit) {
  for (std::size_t begin = 0; begin < samples.size();) {
    std::size_t end = begin + 1;
    while (end < samples.size() && samples[end].group == samples[begin].group) ++end;
    visit(samples.subspan(begin, end - begin));
    begin = end;
  }
}

void count_zero_std(base::Scalars& metrics, Samples samples) {
  for_groups(samples, [&](Samples group) {
    const double first = group.front().reward;
    const bool same = std::ranges::all_of(
        group, [&](const SampleSummary& sample) { return sample.reward == first; });
    if (same && group.size() > 1) metrics["rollout/zero_std/count_" + reward_name(first)] += 1;
  });
}

}  // namespace

std::string reward_name(double reward) {
  const double rounded = std::round(reward * 10) / 10;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", rounded == 0 ? 0.0 : rounded);
  return text.data();
}

base::Scalars rollout_metrics(Samples samples) {
  base::Scalars metrics;
  metrics["rollout/raw_reward"] = mean_of(samples, [](const auto& s) { return s.reward; });
  metrics["rollout/truncated_ratio"] = truncated_ratio(samples);
  metrics["rollout/removed_ratio"] = mean_of(samples, [](const auto& s) { return s.removed; });
  add_lengths(metrics, "rollout/response_len", samples);
  // Both always exist, so that a curve of a run that never had one is a line at zero.
  metrics["rollout/zero_std/count_0"] = 0;
  metrics["rollout/zero_std/count_1"] = 0;
  count_zero_std(metrics, samples);
  return metrics;
}

base::Scalars engine_metrics(const exchange::EngineCounters& now,
                             const exchange::EngineCounters& before) {
  using Member = exchange::EngineCounters::Member;
  const auto since = [&](Member member, double unit) {
    return static_cast<double>(now.*member - before.*member) * unit;
  };
  using Counters = exchange::EngineCounters;
  return {{"rollout/preemptions", static_cast<double>(now.preemptions)},
          {"rollout/narrowed_nuclei", static_cast<double>(now.narrowed_nuclei)},
          {"perf/pull_weights_retries", static_cast<double>(now.pull_retries)},
          {"perf/pull_weights_failures", static_cast<double>(now.pull_failures)},
          {"perf/pull_weights_count", since(&Counters::pulls, 1)},
          {"perf/pull_weights_bytes", since(&Counters::pull_bytes, 1)},
          {"perf/pull_weights_get_time", since(&Counters::pull_get_us, 1e-6)},
          {"perf/pull_weights_apply_time", since(&Counters::pull_apply_us, 1e-6)},
          {"perf/pull_weights_verify_time", since(&Counters::pull_verify_us, 1e-6)},
          {"perf/swap_weights_count", since(&Counters::swaps, 1)},
          {"perf/swap_weights_time", since(&Counters::swap_us, 1e-6)}};
}

double offpolicy_token_ratio(Samples samples, std::int64_t step) {
  double older = 0, all = 0;
  for (const auto& sample : samples) {
    const bool own = sample.newest.valid() && sample.newest.value() >= step;
    all += static_cast<double>(sample.trained_tokens);
    older += static_cast<double>(sample.trained_tokens - (own ? sample.newest_tokens : 0));
  }
  return all > 0 ? older / all : 0;
}

base::Scalars staleness_metrics(Samples samples, std::int64_t step) {
  double sum = 0, most = 0, count = 0;
  for (const auto& sample : samples) {
    if (!sample.oldest.valid()) continue;
    const auto age = static_cast<double>(step - sample.oldest.value());
    sum += age;
    most = std::max(most, age);
    count += 1;
  }
  return {{"rollout/fully_async/avg_staleness", count > 0 ? sum / count : 0},
          {"rollout/fully_async/max_staleness", most}};
}

double pass_at_k(std::int64_t n, std::int64_t right, std::int64_t k) {
  // 1 - C(n - right, k) / C(n, k) as a product, which cannot overflow.
  double none = 1;
  for (std::int64_t i = 0; i < k; ++i) {
    if (n - right - i <= 0) return 1;
    none *= static_cast<double>(n - right - i) / static_cast<double>(n - i);
  }
  return 1 - none;
}

base::Scalars pass_rates(const std::string& prefix, Samples samples) {
  base::Scalars rates;
  double groups = 0;
  for_groups(samples, [&](Samples group) {
    groups += 1;
    const auto n = static_cast<std::int64_t>(group.size());
    const auto right = std::ranges::count_if(group, [](const auto& s) { return s.reward == 1; });
    for (std::int64_t k = 1; k <= n && n > 1; k *= 2)
      rates[prefix + std::to_string(k)] += pass_at_k(n, right, k);
  });
  for (auto& [name, rate] : rates) rate /= groups;
  return rates;
}

base::Scalars evaluation_metrics(const std::string& name, Samples samples) {
  const std::string key = "eval/" + name;
  base::Scalars metrics;
  metrics[key] = mean_of(samples, [](const auto& s) { return s.reward; });
  metrics[key + "-truncated_ratio"] = truncated_ratio(samples);
  add_lengths(metrics, key + "/response_len", samples);
  metrics.merge(pass_rates(key + "-pass@", samples));
  return metrics;
}

}  // namespace physarum::buffer
