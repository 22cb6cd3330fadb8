#include <algorithm>
#include <cmath>

#include "physarum/sample/wire.hpp"

#include "wire_checks.hpp"

namespace physarum::sample {

using base::ByteReader;
using base::ByteWriter;

void write(ByteWriter& out, const SampleSummary& summary) {
  out.put(summary.id);
  out.put(summary.group);
  out.put(summary.reward);
  out.put(summary.prompt_tokens);
  out.put(summary.response_tokens);
  out.put(summary.trained_tokens);
  out.put(summary.newest_tokens);
  out.put(summary.owner);
  out.put(summary.oldest);
  out.put(summary.newest);
  out.put(summary.status);
  out.put<std::uint8_t>(summary.removed ? 1 : 0);
  out.put(summary.generation_s);
}

SampleSummary read_sample_summary(ByteReader& in) {
  constexpr std::int64_t most_tokens = std::int64_t{1} << 40;
  SampleSummary summary;
  summary.id = in.get<SampleId>();
  summary.group = in.get<GroupId>();
  summary.reward = in.get<double>();
  summary.prompt_tokens = in.get<std::int64_t>();
  summary.response_tokens = in.get<std::int64_t>();
  summary.trained_tokens = in.get<std::int64_t>();
  summary.newest_tokens = in.get<std::int64_t>();
  summary.owner = in.get<int>();
  summary.oldest = in.get<WeightVersion>();
  summary.newest = in.get<WeightVersion>();
  summary.status = read_enum(in, SampleStatus::failed);
  summary.removed = read_flag(in);
  summary.generation_s = in.get<double>();
  require(summary.id.valid() && summary.group.valid() && summary.owner >= 0,
          "a summary has no id or no owner");
  require(std::isfinite(summary.reward), "a summary's reward is not finite");
  for (const auto tokens : {summary.prompt_tokens, summary.response_tokens, summary.trained_tokens,
                            summary.newest_tokens}) {
    require(tokens >= 0 && tokens <= most_tokens, "a summary's token count is out of range");
  }
  return summary;
}

void write(ByteWriter& out, const BatchPlan& plan) {
  out.put(plan.step);
  out.put<std::uint64_t>(plan.samples.size());
  for (const auto& summary : plan.samples) write(out, summary);
  out.put<std::uint64_t>(plan.micro_batches.size());
  for (const auto& ranks : plan.micro_batches) {
    out.put<std::uint64_t>(ranks.size());
    for (const auto& batches : ranks) {
      out.put<std::uint64_t>(batches.size());
      for (const auto& batch : batches) out.put_vector(batch);
    }
  }
}

namespace {

MicroBatches read_micro_batches(ByteReader& in, std::int64_t samples) {
  MicroBatches batches(read_count(in, sizeof(std::uint64_t)));
  for (auto& batch : batches) {
    batch = in.get_vector<std::int64_t>();
    require(std::ranges::all_of(batch, [&](auto index) { return index >= 0 && index < samples; }),
            "a micro-batch names a sample that is not in the batch");
  }
  return batches;
}

std::vector<MicroBatches> read_ranks(ByteReader& in, std::int64_t samples) {
  std::vector<MicroBatches> ranks(read_count(in, sizeof(std::uint64_t)));
  for (auto& batches : ranks) {
    batches = read_micro_batches(in, samples);
    require(batches.size() == ranks.front().size(),
            "ranks have different numbers of micro-batches");
  }
  return ranks;
}

}  // namespace

BatchPlan read_batch_plan(ByteReader& in) {
  BatchPlan plan;
  plan.step = in.get<std::int64_t>();
  const std::size_t samples = read_count(in, least_summary_bytes);
  plan.samples.reserve(samples);
  for (std::size_t i = 0; i < samples; ++i) plan.samples.push_back(read_sample_summary(in));
  require(plan.step >= 0, "a batch has a negative step");
  require(std::ranges::is_sorted(plan.samples, {}, &SampleSummary::id),
          "a batch is not sorted by sample id");
  plan.micro_batches.resize(read_count(in, sizeof(std::uint64_t)));
  for (auto& ranks : plan.micro_batches) {
    ranks = read_ranks(in, static_cast<std::int64_t>(samples));
    require(ranks.size() == plan.micro_batches.front().size(),
            "optimiser steps have different numbers of ranks");
  }
  return plan;
}

}  // namespace physarum::sample
