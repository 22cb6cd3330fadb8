#pragma once

#include <cstdint>
#include <vector>

#include "physarum/sample/batch.hpp"

#include "group_ledger.hpp"
#include "version_policy.hpp"

namespace physarum::buffer {

/// What can be taken for a step now.
struct BatchSelection {
  std::vector<GroupId> groups;  ///< ascending; as many as a step needs, or none
  std::vector<GroupId> stale;   ///< stored, but too old for this step: to be generated again
};

/// If steps over-sample, a batch also waits for unfinished groups that are due.
/// Pure: looks at what is stored, changes nothing.
[[nodiscard]] BatchSelection select_batch(const GroupLedger& ledger, const VersionPolicy& policy,
                                          std::int64_t step);

}  // namespace physarum::buffer
