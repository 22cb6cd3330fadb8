#pragma once

#include <optional>
#include <string>
#include <vector>

#include "physarum/sample/sample.hpp"

namespace physarum::sample {

/// All answers of one lease, in index order.
struct SampleGroup {
  GroupId id;
  PromptId prompt;
  Purpose purpose = Purpose::train;
  LeaseId lease;
  std::vector<Sample> samples;

  /// The oldest version of any token; invalid if there are no tokens.
  [[nodiscard]] WeightVersion oldest_version() const;
  /// True if a member was given up: the group must be generated again.
  [[nodiscard]] bool has_aborted() const;

  friend bool operator==(const SampleGroup&, const SampleGroup&) = default;
};

/// Says what is wrong with a group, if anything: its samples' faults, ids that differ from the
/// group's, samples out of order or sample ids that do not follow one another.
[[nodiscard]] std::optional<std::string> find_fault(const SampleGroup& group);

/// Throws ContractViolation with the fault: our own mistake, caught where the group was made.
void check(const SampleGroup& group);

}  // namespace physarum::sample
