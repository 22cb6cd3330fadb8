#pragma once

#include <cstdint>
#include <vector>

#include "physarum/sample/ids.hpp"
#include "physarum/sample/prompt.hpp"
#include "physarum/sample/purpose.hpp"
#include "physarum/sample/sample.hpp"
#include "physarum/sample/sampling_options.hpp"

namespace physarum::sample {

/// Which weights may answer a lease.
enum class VersionRule : std::uint8_t {
  at_least,  ///< start with weights of `version` or newer; they may change meanwhile
  exactly,   ///< weights stay at `version` while the lease is in flight
};

/// One group lent to one engine until a deadline. The engine draws the i-th sample of the group
/// from the random stream of sample id `first_sample` + i and of nothing else, so the answers do
/// not depend on who got the lease or when.
struct Lease {
  LeaseId id;
  GroupId group;
  Purpose purpose = Purpose::train;
  Prompt prompt;
  std::int64_t n_samples = 1;
  SampleId first_sample;  ///< the i-th sample of the group has this id + i
  WeightVersion version;
  VersionRule rule = VersionRule::at_least;
  double deadline_s = 600;  ///< from now on; after it the group may be lent to another engine
  SamplingOptions sampling;
  int owner = 0;                 ///< world rank of the buffer rank that stores the group
  std::vector<LeaseId> history;  ///< earlier leases of the same group, oldest first
  /// What an earlier lease has left: all samples of the group, in index order, or none. Those of
  /// status `aborted` go on behind the tokens that they have; the others are finished and come
  /// back as they are.
  std::vector<Sample> begun;
  friend bool operator==(const Lease&, const Lease&) = default;
};

}  // namespace physarum::sample
