#include "physarum/sample/sample_group.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"

namespace physarum::sample {

namespace {

std::optional<std::string> membership_fault(const SampleGroup& group, std::size_t index) {
  const Sample& sample = group.samples[index];
  if (sample.group != group.id || sample.prompt != group.prompt || sample.lease != group.lease)
    return "it belongs to another group, prompt or lease";
  const auto position = static_cast<std::int64_t>(index);
  if (sample.index_in_group != position) return "it is not at the place of its index";
  // Written so that no sum can overflow, whatever a peer sent.
  if (sample.id.value() - position != group.samples.front().id.value())
    return "its id does not follow its neighbour's";
  return {};
}

}  // namespace

WeightVersion SampleGroup::oldest_version() const {
  WeightVersion oldest;
  for (const auto& sample : samples) {
    const auto version = sample.oldest_version();
    if (version.valid() && (!oldest.valid() || version < oldest)) oldest = version;
  }
  return oldest;
}

bool SampleGroup::has_aborted() const {
  return std::ranges::any_of(
      samples, [](const Sample& sample) { return sample.status == SampleStatus::aborted; });
}

std::optional<std::string> find_fault(const SampleGroup& group) {
  if (!group.id.valid() || !group.prompt.valid() || !group.lease.valid())
    return "the group has no id, no prompt or no lease";
  if (group.samples.empty()) return "the group is empty";
  for (std::size_t i = 0; i < group.samples.size(); ++i) {
    auto fault = find_fault(group.samples[i], group.purpose);
    if (!fault) fault = membership_fault(group, i);
    if (fault) return "sample " + std::to_string(i) + " of the group: " + *fault;
  }
  return {};
}

void check(const SampleGroup& group) {
  if (const auto fault = find_fault(group)) base::expects(false, fault->c_str());
}

}  // namespace physarum::sample
