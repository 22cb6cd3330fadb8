#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "physarum/base/metrics.hpp"

#include "physarum/sample/batch.hpp"

#include "physarum/exchange/messages.hpp"

namespace physarum::buffer {

/// Metrics of a rollout batch under slime's names: rollout/raw_reward, rollout/response_len/*,
/// rollout/truncated_ratio, rollout/zero_std/count_<reward>, ... `samples` is sorted by id.
[[nodiscard]] base::Scalars rollout_metrics(std::span<const sample::SampleSummary> samples);

/// How old the samples are, step minus oldest version: rollout/fully_async/avg_staleness and
/// max_staleness. Samples without versions are left out.
[[nodiscard]] base::Scalars staleness_metrics(std::span<const sample::SampleSummary> samples,
                                              std::int64_t step);

/// What engines have counted: rollout/preemptions and the like, and perf/pull_weights_retries and
/// _failures, since they began; perf/pull_weights_* and perf/swap_weights_*, in counts, bytes and
/// seconds of all engines together, since `before`.
[[nodiscard]] base::Scalars engine_metrics(const exchange::EngineCounters& now,
                                           const exchange::EngineCounters& before);

/// The share of trained tokens that weights older than those of `step` made. Before masking.
[[nodiscard]] double offpolicy_token_ratio(std::span<const sample::SampleSummary> samples,
                                           std::int64_t step);

/// "0", "1", "0.5", "-1": rewards rounded to one decimal, as slime names its counts.
[[nodiscard]] std::string reward_name(double reward);

/// eval/<name> (mean reward), eval/<name>-truncated_ratio, eval/<name>/response_len/*, and with
/// several samples per prompt the pass_rates() eval/<name>-pass@k.
[[nodiscard]] base::Scalars evaluation_metrics(const std::string& name,
                                               std::span<const sample::SampleSummary> samples);

/// <prefix><k> for k = 1, 2, 4, ... up to the samples of a prompt: pass_at_k() averaged over the
/// prompts; a sample is right if its reward is 1. None if prompts have one sample each, of which
/// the mean reward says all. `samples` is sorted by id.
[[nodiscard]] base::Scalars pass_rates(const std::string& prefix,
                                       std::span<const sample::SampleSummary> samples);

/// The chance that at least one of k samples drawn from n, of which `right` are right, is right
/// (unbiased, without replacement): 1 - C(n - right, k) / C(n, k), Chen et al. 2021
/// (arXiv:2107.03374), equation 1. 1 <= k <= n.
[[nodiscard]] double pass_at_k(std::int64_t n, std::int64_t right, std::int64_t k);

}  // namespace physarum::buffer
