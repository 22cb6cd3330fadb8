#pragma once

#include <cstdint>

#include "physarum/base/ids.hpp"

#include "physarum/sample/prompt.hpp"
#include "physarum/sample/sampling_options.hpp"

namespace physarum::sample {

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
