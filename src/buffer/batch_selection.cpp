#include "batch_selection.hpp"

namespace physarum::buffer {

BatchSelection select_batch(const GroupLedger& ledger, const VersionPolicy& policy,
                            std::int64_t step) {
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
