#include "physarum/sample/micro_batches.hpp"

#include <algorithm>
#include <numeric>

#include "physarum/base/contracts.hpp"

namespace physarum::sample {

namespace {

struct Bin {
  std::int64_t tokens = 0;
  std::vector<std::int64_t> indices;
};

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

/// Longest first; equal ones by id, so that the order is a function of the samples.
std::vector<std::int64_t> by_length(std::span<const SampleSummary> samples, std::int64_t first,
                                    std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), first);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::int64_t i) {
    return samples[static_cast<std::size_t>(i)].total_tokens();
  });
  return order;
}

/// Each sample into the bin with the fewest tokens that still takes one more sample.
std::vector<Bin> fill(std::span<const SampleSummary> samples, std::span<const std::int64_t> order,
                      std::int64_t bin_count, std::int64_t samples_per_bin) {
  std::vector<Bin> bins(static_cast<std::size_t>(bin_count));
  for (const std::int64_t index : order) {
    Bin* best = nullptr;
    for (auto& bin : bins) {
      if (static_cast<std::int64_t>(bin.indices.size()) >= samples_per_bin) continue;
      if (best == nullptr || bin.tokens < best->tokens) best = &bin;
    }
    best->indices.push_back(index);
    best->tokens += samples[static_cast<std::size_t>(index)].total_tokens();
  }
  return bins;
}

bool fits(const std::vector<Bin>& bins, std::int64_t max_tokens) {
  return std::ranges::all_of(
      bins, [&](const Bin& bin) { return bin.tokens <= max_tokens || bin.indices.size() <= 1; });
}

/// Starts with the fewest bins that could do and adds one per rank until nothing is too full; with
/// a bin for every sample nothing is, so it ends.
std::vector<Bin> pack_by_tokens(std::span<const SampleSummary> samples,
                                std::span<const std::int64_t> order, int dp_size,
                                std::int64_t max_tokens) {
  const auto count = static_cast<std::int64_t>(order.size());
  std::int64_t tokens = 0;
  for (const std::int64_t index : order)
    tokens += samples[static_cast<std::size_t>(index)].total_tokens();
  const std::int64_t most = std::max<std::int64_t>(1, divide_up(count, dp_size));
  std::int64_t per_rank =
      std::clamp<std::int64_t>(divide_up(tokens, max_tokens * dp_size), 1, most);
  for (;; ++per_rank) {
    auto bins = fill(samples, order, per_rank * dp_size, count);
    if (fits(bins, max_tokens)) return bins;
    // Longest-first is no exact packing: the last resort is one bin for each sample.
    if (per_rank >= most) return fill(samples, order, most * dp_size, 1);
  }
}

std::vector<Bin> pack(std::span<const SampleSummary> samples, std::span<const std::int64_t> order,
                      int dp_size, const MicroBatchRule& rule) {
  if (rule.packing == Packing::by_tokens)
    return pack_by_tokens(samples, order, dp_size, rule.max_tokens);
  const auto count = static_cast<std::int64_t>(order.size());
  const auto per_rank =
      std::max<std::int64_t>(1, divide_up(count, dp_size * rule.micro_batch_size));
  return fill(samples, order, per_rank * dp_size, rule.micro_batch_size);
}

/// Deals full bins to the ranks, equally many to each, the fullest first to the emptiest rank.
std::vector<MicroBatches> deal(std::vector<Bin> bins, int dp_size) {
  std::ranges::stable_sort(bins, std::ranges::greater{}, &Bin::tokens);
  const std::size_t per_rank = bins.size() / static_cast<std::size_t>(dp_size);
  std::vector<MicroBatches> ranks(static_cast<std::size_t>(dp_size));
  std::vector<std::int64_t> tokens(ranks.size(), 0);
  for (auto& bin : bins) {
    std::size_t best = ranks.size();
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].size() == per_rank) continue;
      if (best == ranks.size() || tokens[rank] < tokens[best]) best = rank;
    }
    std::ranges::sort(bin.indices);
    tokens[best] += bin.tokens;
    ranks[best].push_back(std::move(bin.indices));
  }
  return ranks;
}

}  // namespace

std::vector<std::vector<MicroBatches>> plan_micro_batches(std::span<const SampleSummary> samples,
                                                          int dp_size, std::int64_t num_steps,
                                                          const MicroBatchRule& rule) {
  const auto count = static_cast<std::int64_t>(samples.size());
  base::expects(dp_size > 0 && num_steps > 0 && count % num_steps == 0,
                "a rollout batch splits into equal optimiser steps");
  base::expects(
      rule.packing == Packing::by_tokens ? rule.max_tokens > 0 : rule.micro_batch_size > 0,
      "a micro-batch holds something");
  base::expects(std::ranges::is_sorted(samples, {}, &SampleSummary::id),
                "the batch is sorted by sample id");
  std::vector<std::vector<MicroBatches>> plan;
  const std::int64_t per_step = count / num_steps;
  for (std::int64_t step = 0; step < num_steps; ++step) {
    const auto order = by_length(samples, step * per_step, per_step);
    plan.push_back(deal(pack(samples, order, dp_size, rule), dp_size));
  }
  return plan;
}

}  // namespace physarum::sample
