#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/sample/sample_group.hpp"

#include "physarum/exchange/messages.hpp"

#include "id_set.hpp"

namespace physarum::buffer {

using base::GroupId;

/// The groups themselves, on the rank that owns them. Deliveries are idempotent by group id: what
/// is stored or done is not stored again.
class GroupStore {
 public:
  /// Holds at most `capacity` groups of training and any number of evaluations (the head bounds
  /// both; the limit here catches peers that do not ask).
  explicit GroupStore(std::int64_t capacity) : capacity_(capacity) {}

  enum class Put : std::uint8_t { stored, repeated, full };
  [[nodiscard]] Put put(sample::SampleGroup group);
  /// Null if it is not here.
  [[nodiscard]] const sample::SampleGroup* find(GroupId group) const;
  [[nodiscard]] const sample::Sample* find(const exchange::SampleKey& key) const;
  /// Those of the given groups that are here, all their samples by id.
  [[nodiscard]] std::vector<const sample::Sample*> samples(std::span<const GroupId> groups) const;

  void release(std::span<const GroupId> groups, exchange::ReleaseReason reason);
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(groups_.size()); }

 private:
  std::int64_t capacity_;
  std::int64_t evaluations_ = 0;
  std::map<GroupId, sample::SampleGroup> groups_;
  IdSet done_;
};

}  // namespace physarum::buffer
