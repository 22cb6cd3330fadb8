#include "batch_selection.hpp"

#include <algorithm>
#include <tuple>

namespace physarum::buffer {

namespace {

/// The first that arrived, but before them those that no later step can take.
BatchSelection select_accepted(const GroupLedger& ledger, const VersionPolicy& policy,
                               std::int64_t step) {
  // Whether it can wait, when it arrived, which it is.
  std::vector<std::tuple<bool, std::int64_t, GroupId>> candidates;
  BatchSelection selection;
  bool complete = true;
  for (const auto& [id, group] : ledger.groups()) {
    const bool due = policy.is_due(step, group.oldest, group.resumes);
    if (group.samples.empty()) {
      complete = complete && !due;
    } else if (policy.too_old(step, group.oldest)) {
      selection.stale.push_back(id);
    } else {
      candidates.emplace_back(!due, group.arrival, id);
    }
  }
  const auto wanted = static_cast<std::size_t>(ledger.groups_per_step());
  if (!complete || candidates.size() < wanted) return selection;
  std::ranges::sort(candidates);
  for (std::size_t i = 0; i < wanted; ++i)
    selection.groups.push_back(std::get<GroupId>(candidates[i]));
  std::ranges::sort(selection.groups);
  return selection;
}

}  // namespace

BatchSelection select_batch(const GroupLedger& ledger, const VersionPolicy& policy,
                            std::int64_t step) {
  if (policy.form == BatchForm::first_accepted) return select_accepted(ledger, policy, step);
  const std::int64_t wanted = ledger.groups_per_step();
  BatchSelection selection;
  for (const auto& [id, group] : ledger.groups()) {
    const bool mine = policy.form == BatchForm::first_complete || ledger.step_of(id) == step;
    if (!mine || group.samples.empty()) continue;
    if (policy.too_old(step, group.oldest)) {
      selection.stale.push_back(id);
    } else if (static_cast<std::int64_t>(selection.groups.size()) < wanted) {
      selection.groups.push_back(id);
    }
  }
  if (static_cast<std::int64_t>(selection.groups.size()) < wanted) selection.groups.clear();
  return selection;
}

}  // namespace physarum::buffer
