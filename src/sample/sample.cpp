#include "physarum/sample/sample.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace physarum::sample {

namespace {

using Fault = std::optional<std::string>;

/// Rounding may lift the log of a probability near 1 a little above 0.
constexpr float largest_log_prob = 1e-3F;

std::int64_t count(const auto& sequence) { return static_cast<std::int64_t>(sequence.size()); }

Fault ids_fault(const Sample& sample) {
  if (!sample.id.valid() || !sample.group.valid()) return "it has no id or no group";
  if (!sample.prompt.valid() || !sample.lease.valid()) return "it has no prompt or no lease";
  if (sample.index_in_group < 0) return "its index is negative";
  return {};
}

Fault lengths_fault(const Sample& sample, Purpose purpose) {
  if (sample.prompt_tokens < 0 || sample.response_tokens() < 0) return "its prompt is too long";
  const auto tokens = sample.response_tokens();
  if (count(sample.mask) != tokens) return "its mask is not as long as its response";
  const std::int64_t wanted = purpose == Purpose::supervised ? 0 : tokens;
  if (count(sample.log_probs) != wanted) return "it has not one log-prob per response token";
  if (std::ranges::any_of(sample.tokens, [](TokenId token) { return token < 0; }))
    return "a token is negative";
  return {};
}

Fault log_probs_fault(const Sample& sample) {
  for (std::size_t i = 0; i < sample.mask.size(); ++i) {
    if (sample.mask[i] > 1) return "its mask holds something else than 0 and 1";
    if (sample.log_probs.empty()) continue;
    const float value = sample.log_probs[i];
    if (sample.mask[i] == 0 && value != 0) return "an untrained token has a log-prob";
    if (!std::isfinite(value) || value > largest_log_prob)
      return "a log-prob is no logarithm of a probability";
  }
  return {};
}

Fault nuclei_fault(const Sample& sample, Purpose purpose) {
  const auto& nuclei = sample.nuclei;
  if (!nuclei.fits_together()) return "the ends of its nuclei do not fit their ids";
  if (nuclei.empty()) return {};
  if (purpose == Purpose::supervised) return "nobody drew its tokens, but it has nuclei";
  if (nuclei.size() != sample.response_tokens()) return "it has not one nucleus per response token";
  for (std::int64_t i = 0; i < nuclei.size(); ++i) {
    const auto drawn = sample.tokens[static_cast<std::size_t>(sample.prompt_tokens + i)];
    if (const char* fault = base::set_fault(nuclei.at(i), drawn)) return fault;
  }
  return {};
}

/// The likeliest token is at least as likely as the one that was drawn.
Fault top_fault(const Sample& sample, Purpose purpose) {
  const auto& top = sample.top_log_probs;
  if (top.empty()) return {};
  if (purpose == Purpose::supervised) return "nobody drew its tokens, but it has top log-probs";
  if (const char* fault = find_fault(top, sample.response_tokens())) return fault;
  const auto per_token = static_cast<std::size_t>(top.per_token(sample.response_tokens()));
  for (std::size_t i = 0; i < sample.mask.size(); ++i) {
    if (sample.mask[i] == 1 && sample.log_probs[i] > top.log_probs[i * per_token])
      return "a token is likelier than its likeliest alternative";
  }
  return {};
}

Fault versions_fault(const Sample& sample) {
  std::int64_t tokens = 0;
  for (const auto& run : sample.versions) {
    if (!run.version.valid()) return "a run of tokens has no weight version";
    if (run.tokens < 1 || run.tokens > sample.response_tokens() - tokens)
      return "its versions' tokens do not sum up to its response";
    tokens += run.tokens;
  }
  if (tokens != sample.response_tokens())
    return "its versions' tokens do not sum up to its response";
  return {};
}

Fault verdict_fault(const Sample& sample) {
  if (sample.status == SampleStatus::pending) return "it is not finished";
  if (sample.status == SampleStatus::failed && !sample.removed)
    return "it failed but is not removed from the loss";
  if (!std::isfinite(sample.reward)) return "its reward is not finite";
  if (!(sample.generation_s >= 0)) return "its generation time is negative";
  return {};
}

}  // namespace

std::int64_t Sample::trained_tokens() const {
  return removed ? 0 : std::accumulate(mask.begin(), mask.end(), std::int64_t{0});
}

WeightVersion Sample::oldest_version() const {
  const auto run = std::ranges::min_element(versions, {}, &VersionRun::version);
  return run == versions.end() ? WeightVersion() : run->version;
}

WeightVersion Sample::newest_version() const {
  const auto run = std::ranges::max_element(versions, {}, &VersionRun::version);
  return run == versions.end() ? WeightVersion() : run->version;
}

void mask_older_than(Sample& sample, WeightVersion version) {
  std::size_t begin = 0;
  for (const auto& run : sample.versions) {
    const auto end = begin + static_cast<std::size_t>(run.tokens);
    for (std::size_t i = begin; i < end && run.version < version; ++i) {
      sample.mask[i] = 0;
      if (!sample.log_probs.empty()) sample.log_probs[i] = 0;
    }
    begin = end;
  }
}

std::optional<std::string> find_fault(const Sample& sample, Purpose purpose) {
  if (auto fault = ids_fault(sample)) return fault;
  if (auto fault = lengths_fault(sample, purpose)) return fault;
  if (auto fault = log_probs_fault(sample)) return fault;
  if (auto fault = nuclei_fault(sample, purpose)) return fault;
  if (auto fault = top_fault(sample, purpose)) return fault;
  if (auto fault = versions_fault(sample)) return fault;
  return verdict_fault(sample);
}

}  // namespace physarum::sample
