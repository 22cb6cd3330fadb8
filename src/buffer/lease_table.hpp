#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "physarum/base/ids.hpp"

namespace physarum::buffer {

using base::GroupId;
using base::LeaseId;
using base::WorldRank;

struct LeaseRecord {
  LeaseId id;
  GroupId group;
  WorldRank engine;
  double expires_s = 0;
};

/// Which groups are lent to whom and until when. One lease per group at a time; a new one gets a
/// new id. Time is given by the caller.
class LeaseTable {
 public:
  LeaseId grant(GroupId group, WorldRank engine, double now_s, double length_s);
  /// Ends the group's lease; nothing if it has none.
  std::optional<LeaseRecord> complete(GroupId group);
  /// Ends and returns all leases past their deadline, the earliest first.
  [[nodiscard]] std::vector<LeaseRecord> expire(double now_s);
  /// Ends and returns all leases of an engine, by group.
  [[nodiscard]] std::vector<LeaseRecord> drop_engine(WorldRank engine);

  /// Numbers below are taken: by the run that this one goes on from.
  void start_at(std::int64_t next_id) { next_id_ = next_id; }
  [[nodiscard]] std::int64_t next_id() const { return next_id_; }

  [[nodiscard]] const LeaseRecord* find(GroupId group) const;
  [[nodiscard]] std::int64_t in_flight(WorldRank engine) const;
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(leases_.size()); }

 private:
  std::map<GroupId, LeaseRecord> leases_;
  std::set<std::pair<double, GroupId>> by_deadline_;
  std::map<WorldRank, std::int64_t> in_flight_;
  std::int64_t next_id_ = 0;
};

}  // namespace physarum::buffer
