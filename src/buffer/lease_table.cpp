#include "lease_table.hpp"

#include "physarum/base/contracts.hpp"

namespace physarum::buffer {

LeaseId LeaseTable::grant(GroupId group, WorldRank engine, double now_s, double length_s) {
  const LeaseRecord record{LeaseId(next_id_), group, engine, now_s + length_s};
  const bool fresh = leases_.emplace(group, record).second;
  base::expects(fresh, "a group is lent to one engine at a time");
  by_deadline_.emplace(record.expires_s, group);
  ++in_flight_[engine];
  ++next_id_;
  return record.id;
}

std::optional<LeaseRecord> LeaseTable::complete(GroupId group) {
  const auto found = leases_.find(group);
  if (found == leases_.end()) return {};
  const LeaseRecord record = found->second;
  by_deadline_.erase({record.expires_s, group});
  --in_flight_[record.engine];
  leases_.erase(found);
  return record;
}

std::vector<LeaseRecord> LeaseTable::expire(double now_s) {
  std::vector<LeaseRecord> expired;
  while (!by_deadline_.empty() && by_deadline_.begin()->first <= now_s)
    expired.push_back(*complete(by_deadline_.begin()->second));
  return expired;
}

std::vector<LeaseRecord> LeaseTable::drop_engine(WorldRank engine) {
  std::vector<GroupId> groups;
  for (const auto& [group, record] : leases_)
    if (record.engine == engine) groups.push_back(group);
  std::vector<LeaseRecord> dropped;
  for (const auto group : groups) dropped.push_back(*complete(group));
  return dropped;
}

const LeaseRecord* LeaseTable::find(GroupId group) const {
  const auto found = leases_.find(group);
  return found == leases_.end() ? nullptr : &found->second;
}

std::int64_t LeaseTable::in_flight(WorldRank engine) const {
  const auto found = in_flight_.find(engine);
  return found == in_flight_.end() ? 0 : found->second;
}

}  // namespace physarum::buffer
