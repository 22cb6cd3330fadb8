#pragma once

#include <string>
#include <utility>

#include "physarum/base/philox.hpp"

#include "physarum/sample/batch.hpp"
#include "physarum/sample/lease.hpp"
#include "physarum/sample/sample_group.hpp"

namespace physarum::sample::testing {

/// A number in [low, high] that depends on the seed and the two indices only.
inline std::int64_t draw(std::uint64_t seed, std::int64_t item, std::uint32_t position,
                         std::int64_t low, std::int64_t high) {
  const base::RandomStream stream(seed, base::StreamKind::test);
  return low + static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(high - low + 1),
                                                      static_cast<std::uint64_t>(item), position));
}

/// A valid sample whose content is a function of its id (and the version).
inline Sample make_sample(std::int64_t id, std::int64_t group, std::int64_t index,
                          std::int64_t version = 0) {
  Sample sample;
  sample.id = SampleId(id);
  sample.group = GroupId(group);
  sample.prompt = PromptId(group % 7);
  sample.lease = LeaseId(group + 1000);
  sample.index_in_group = index;
  sample.prompt_tokens = draw(1, id, 0, 1, 5);
  const std::int64_t response = draw(1, id, 1, 1, 9);
  for (std::int64_t i = 0; i < sample.prompt_tokens + response; ++i)
    sample.tokens.push_back(
        static_cast<TokenId>(draw(2, id, static_cast<std::uint32_t>(i), 0, 99)));
  for (std::int64_t i = 0; i < response; ++i) {
    const bool trained = i % 4 != 3;
    sample.mask.push_back(trained ? 1 : 0);
    sample.log_probs.push_back(trained ? -0.25F * static_cast<float>(i + 1) : 0.0F);
  }
  sample.versions.push_back({WeightVersion(version), response});
  sample.reward = static_cast<double>(draw(3, id, 0, 0, 1));
  sample.status = draw(4, id, 0, 0, 4) == 0 ? SampleStatus::truncated : SampleStatus::completed;
  sample.response = "answer " + std::to_string(id);
  sample.label = "label " + std::to_string(group);
  sample.evidence = {"exact", 2, 0xfedcba9876543210ULL, R"({"equal": true})", 0.001};
  sample.generation_s = 0.5;
  sample.lease_history = {sample.lease};
  return sample;
}

/// The same, but its trained tokens were drawn from few ids each.
inline Sample with_nuclei(Sample sample) {
  for (std::size_t i = 0; i < sample.mask.size(); ++i) {
    const auto place = static_cast<std::uint32_t>(i);
    std::vector<TokenId> ids;
    if (sample.mask[i] == 1) {
      const TokenId drawn = sample.tokens[static_cast<std::size_t>(sample.prompt_tokens) + i];
      if (drawn > 0)
        ids.push_back(
            static_cast<TokenId>(draw(5, sample.id.value(), place, 0, std::int64_t{drawn} - 1)));
      ids.push_back(drawn);
      for (auto more = draw(6, sample.id.value(), place, 0, 5); more > 0; --more)
        ids.push_back(ids.back() + 1 + static_cast<TokenId>(more));
    }
    sample.nuclei.push(ids);
  }
  return sample;
}

/// The same with three likeliest tokens for each, of which the last may be missing.
inline Sample with_top_log_probs(Sample sample) {
  for (std::size_t i = 0; i < sample.mask.size(); ++i) {
    const float likeliest = sample.log_probs[i];
    const TokenId drawn = sample.tokens[static_cast<std::size_t>(sample.prompt_tokens) + i];
    const bool all = draw(7, sample.id.value(), static_cast<std::uint32_t>(i), 0, 1) == 1;
    sample.top_log_probs.push(
        std::vector<TokenId>{drawn, drawn + 1, all ? drawn + 2 : no_alternative},
        std::vector<float>{likeliest, likeliest - 0.5F, all ? likeliest - 2 : no_log_prob});
  }
  return sample;
}

inline SampleGroup make_group(std::int64_t group, std::int64_t n_samples,
                              std::int64_t version = 0) {
  SampleGroup result;
  result.id = GroupId(group);
  result.prompt = PromptId(group % 7);
  result.lease = LeaseId(group + 1000);
  for (std::int64_t i = 0; i < n_samples; ++i)
    result.samples.push_back(make_sample(group * n_samples + i, group, i, version));
  return result;
}

/// The last sample of the group is not finished; it has three tokens of two versions.
inline SampleGroup unfinished_group(std::int64_t group, std::int64_t n_samples) {
  auto result = make_group(group, n_samples, 1);
  Sample& last = result.samples.back();
  last.tokens.resize(static_cast<std::size_t>(last.prompt_tokens));
  last.tokens.insert(last.tokens.end(), {5, 6, 7});
  last.mask.assign(3, 1);
  last.log_probs = {-0.5F, -0.25F, -1.0F};
  last.versions = {{WeightVersion(1), 2}, {WeightVersion(2), 1}};
  last.status = SampleStatus::aborted;
  last.reward = 0;
  last.response.clear();
  last.evidence = {};
  return result;
}

/// What an honest engine makes of a lease; depends on the sample ids, not on lease or engine.
inline SampleGroup answer(const Lease& lease, std::int64_t version) {
  SampleGroup group;
  group.id = lease.group;
  group.prompt = lease.prompt.id;
  group.purpose = lease.purpose;
  group.lease = lease.id;
  for (std::int64_t i = 0; i < lease.n_samples; ++i) {
    Sample sample = make_sample(lease.first_sample.value() + i, lease.group.value(), i, version);
    sample.prompt = lease.prompt.id;
    sample.lease = lease.id;
    sample.lease_history = lease.history;
    sample.lease_history.push_back(lease.id);
    if (lease.purpose == Purpose::supervised) sample.log_probs.clear();
    group.samples.push_back(std::move(sample));
  }
  return group;
}

inline Lease make_lease(std::int64_t id = 5) {
  Lease lease;
  lease.id = LeaseId(id);
  lease.group = GroupId(3);
  lease.purpose = Purpose::evaluate;
  lease.prompt = {PromptId(9),           "2+2=", R"([{"role":"user","content":"2+2?"}])",
                  R"([{"name":"add"}])", "4",    R"({"level": 1})",
                  "arithmetic"};
  lease.n_samples = 4;
  lease.first_sample = SampleId(12);
  lease.version = WeightVersion(2);
  lease.rule = VersionRule::exactly;
  lease.deadline_s = 30;
  lease.sampling.min_p = 0.125;
  lease.sampling.nucleus_limit = 50;
  lease.sampling.top_log_probs = 3;
  lease.sampling.stop_token_ids = {0, 2};
  lease.sampling.stop_strings = {"\n\n", std::string("a\0b", 3)};
  lease.sampling.repetition_penalty = 1.25;
  lease.sampling.presence_penalty = -0.5;
  lease.sampling.frequency_penalty = 0.75;
  lease.sampling.min_response_tokens = 2;
  lease.sampling.max_response_tokens = 16;
  lease.owner = 1;
  lease.history = {LeaseId(1), LeaseId(4)};
  return lease;
}

/// A lease whose group was begun under another one.
inline Lease begun_lease(std::int64_t id = 5) {
  auto lease = make_lease(id);
  lease.purpose = Purpose::train;
  auto group = unfinished_group(lease.group.value(), lease.n_samples);
  for (auto& sample : group.samples) sample.prompt = lease.prompt.id;
  lease.begun = std::move(group.samples);
  return lease;
}

}  // namespace physarum::sample::testing
