#include "group_store.hpp"

#include <algorithm>
#include <utility>

namespace physarum::buffer {

namespace {
bool is_evaluation(const sample::SampleGroup& group) {
  return group.purpose == sample::Purpose::evaluate;
}
}  // namespace

GroupStore::Put GroupStore::put(sample::SampleGroup group) {
  const GroupId id = group.id;
  if (done_.contains(id.value()) || groups_.contains(id)) return Put::repeated;
  if (is_evaluation(group)) {
    ++evaluations_;
  } else if (size() - evaluations_ >= capacity_) {
    return Put::full;
  }
  groups_.emplace(id, std::move(group));
  return Put::stored;
}

const sample::SampleGroup* GroupStore::find(GroupId group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? nullptr : &found->second;
}

const sample::Sample* GroupStore::find(const exchange::SampleKey& key) const {
  const auto* group = find(key.group);
  if (group == nullptr) return nullptr;
  const auto found = std::ranges::find(group->samples, key.sample, &sample::Sample::id);
  return found == group->samples.end() ? nullptr : &*found;
}

std::vector<const sample::Sample*> GroupStore::samples(std::span<const GroupId> groups) const {
  std::vector<const sample::Sample*> samples;
  for (const auto id : groups) {
    const auto* group = find(id);
    if (group == nullptr) continue;
    for (const auto& sample : group->samples) samples.push_back(&sample);
  }
  std::ranges::sort(samples, {}, &sample::Sample::id);
  return samples;
}

void GroupStore::release(std::span<const GroupId> groups, exchange::ReleaseReason reason) {
  for (const auto id : groups) {
    const auto found = groups_.find(id);
    if (found != groups_.end()) {
      if (is_evaluation(found->second)) --evaluations_;
      groups_.erase(found);
    }
    if (reason == exchange::ReleaseReason::done) done_.insert(id.value());
  }
}

}  // namespace physarum::buffer
