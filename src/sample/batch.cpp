#include "physarum/sample/batch.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"

namespace physarum::sample {

namespace {
std::int64_t newest_tokens(const Sample& sample) {
  if (sample.removed) return 0;
  const auto newest = sample.newest_version();
  std::int64_t count = 0;
  auto place = sample.mask.begin();
  for (const auto& run : sample.versions) {
    if (run.version == newest) count += std::count(place, place + run.tokens, 1);
    place += run.tokens;
  }
  return count;
}
}  // namespace

SampleSummary summarise(const Sample& sample, int owner) {
  SampleSummary summary;
  summary.id = sample.id;
  summary.group = sample.group;
  summary.reward = sample.reward;
  summary.prompt_tokens = sample.prompt_tokens;
  summary.response_tokens = sample.response_tokens();
  summary.trained_tokens = sample.trained_tokens();
  summary.newest_tokens = newest_tokens(sample);
  summary.owner = owner;
  summary.oldest = sample.oldest_version();
  summary.newest = sample.newest_version();
  summary.status = sample.status;
  summary.removed = sample.removed;
  summary.generation_s = sample.generation_s;
  return summary;
}

void mask_older_than(SampleSummary& summary, WeightVersion version) {
  if (summary.oldest.valid() && summary.oldest < version)
    summary.trained_tokens = summary.newest < version ? 0 : summary.newest_tokens;
}

const Sample& Batch::sample(std::int64_t plan_index) const {
  const auto id = plan.samples.at(static_cast<std::size_t>(plan_index)).id;
  const auto found = std::ranges::lower_bound(samples, id, {}, &Sample::id);
  base::expects(found != samples.end() && found->id == id,
                "the sample belongs to another data-parallel rank");
  return *found;
}

std::vector<std::int64_t> indices_of_rank(const BatchPlan& plan, int dp_rank) {
  std::vector<std::int64_t> indices;
  for (const auto& ranks : plan.micro_batches) {
    for (const auto& batch : ranks.at(static_cast<std::size_t>(dp_rank)))
      indices.insert(indices.end(), batch.begin(), batch.end());
  }
  std::ranges::sort(indices);
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

}  // namespace physarum::sample
