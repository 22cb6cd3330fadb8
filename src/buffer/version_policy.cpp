#include "version_policy.hpp"

#include <algorithm>

namespace physarum::buffer {

VersionPolicy VersionPolicy::of(const BufferOptions& options, sample::Purpose purpose,
                                bool has_trainers) {
  VersionPolicy policy;
  policy.unversioned = purpose == sample::Purpose::supervised || !has_trainers;
  if (policy.unversioned) return policy;
  policy.staleness = options.staleness();
  if (options.mode == Mode::one_step_async) policy.rule = sample::VersionRule::exactly;
  // With staleness 0 both forms are the same batch, and the exact one is easier to see through.
  if (options.mode == Mode::async && policy.staleness > 0) policy.form = BatchForm::first_complete;
  return policy;
}

bool VersionPolicy::opens(std::int64_t step, WeightVersion published) const {
  return unversioned || (published.valid() && published.value() >= step - staleness);
}

WeightVersion VersionPolicy::needs(std::int64_t step, WeightVersion first) const {
  const std::int64_t least = std::max<std::int64_t>(first.value(), 0);
  return WeightVersion(unversioned ? least : std::max(least, step - staleness));
}

bool VersionPolicy::too_old(std::int64_t step, WeightVersion oldest) const {
  return !unversioned && oldest.valid() && step - oldest.value() > staleness;
}

}  // namespace physarum::buffer
