#include "version_policy.hpp"

#include <algorithm>

namespace physarum::buffer {

VersionPolicy VersionPolicy::of(const BufferOptions& options, sample::Purpose purpose,
                                bool has_trainers) {
  VersionPolicy policy;
  policy.unversioned = purpose == sample::Purpose::supervised || !has_trainers;
  if (options.over_samples() && purpose != sample::Purpose::supervised) {
    policy.form = BatchForm::first_accepted;
    if (options.partial_rollout) policy.most_age = options.most_age();
    policy.most_resumes = options.most_resumes();
  }
  if (policy.unversioned) return policy;
  policy.staleness = options.staleness();
  policy.most_age = std::max(policy.most_age, policy.staleness);
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
  return !unversioned && oldest.valid() && step - oldest.value() > most_age;
}

WeightVersion own_version(std::int64_t step, const ServerSettings& settings) {
  const bool learns = !settings.peers.trainers.empty();
  return settings.options.mask_offpolicy_in_partial_rollout && learns ? WeightVersion(step)
                                                                      : WeightVersion();
}

bool VersionPolicy::is_due(std::int64_t step, WeightVersion oldest, std::int64_t resumes) const {
  return oldest.valid() && (resumes >= most_resumes || too_old(step + 1, oldest));
}

}  // namespace physarum::buffer
