#pragma once

#include <cstdint>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/sample/prompt.hpp"

namespace physarum::sample {

/// How an engine draws tokens.
struct SamplingOptions {
  double temperature = 1.0;  ///< 0: the most probable token; only for evaluation
  std::int64_t top_k = -1;   ///< -1: all
  double top_p = 1.0;        ///< 1: all
  std::int64_t max_response_tokens = 256;
  std::int64_t max_context_tokens = 0;        ///< prompt + response; 0: the model's limit
  std::vector<base::TokenId> stop_token_ids;  ///< besides the model's own end tokens
  friend bool operator==(const SamplingOptions&, const SamplingOptions&) = default;
};

enum class Purpose : std::uint8_t {
  train,       ///< generate and verify, for learning
  evaluate,    ///< generate and verify, for a figure
  supervised,  ///< no generation: the response is the label (SFT)
};

enum class VersionRule : std::uint8_t {
  at_least,  ///< start with weights of `version` or newer; they may change meanwhile
  exactly,   ///< weights stay at `version` while the lease is in flight
};

/// One group lent to one engine until a deadline.
struct Lease {
  base::LeaseId id;
  base::GroupId group;
  Purpose purpose = Purpose::train;
  Prompt prompt;
  std::int64_t n_samples = 1;
  base::SampleId first_sample;  ///< the i-th sample of the group has this id + i
  base::WeightVersion version;
  VersionRule rule = VersionRule::at_least;
  double deadline_s = 600;  ///< from now on; after it the group may be lent to another engine
  SamplingOptions sampling;
  friend bool operator==(const Lease&, const Lease&) = default;
};

}  // namespace physarum::sample
