#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"

#include "physarum/sample/batch.hpp"

#include "physarum/buffer/buffer_state.hpp"

#include "draw_counter.hpp"
#include "id_set.hpp"
#include "version_policy.hpp"

namespace physarum::buffer {

using base::GroupId;
using base::LeaseId;

/// The groups of a run: [first_step, end_step) steps of `per_step` groups each.
struct GroupRange {
  std::int64_t per_step = 1;
  std::int64_t first_step = 0;
  std::int64_t end_step = 0;
  std::int64_t per_draw = 0;  ///< 0: a step takes certain groups, or what is complete
};

/// What the head knows of the training groups: which wait, are lent, or are stored somewhere.
/// Groups pass through these states in id order as far as possible; of what was taken only the
/// number stays. Bounded: no more than `capacity` groups are lent or stored.
///
/// If steps over-sample (BatchForm::first_accepted), a group belongs to no step: each step draws
/// groups, those that came back first, until enough of them are accepted.
class GroupLedger {
 public:
  struct Group {
    std::int64_t attempts = 0;                   ///< leases since it last arrived
    std::vector<LeaseId> history;                ///< all leases so far
    std::vector<sample::SampleSummary> samples;  ///< not empty: stored
    WeightVersion oldest;      ///< of all tokens; of a group that is not stored, of those it kept
    bool waiting = false;      ///< was lent and came back
    std::int64_t resumes = 0;  ///< leases that went on with tokens of earlier ones
    std::int64_t arrival = 0;  ///< stored: the how-manieth arrival it was
  };

  GroupLedger(GroupRange range, std::int64_t capacity);

  /// The step that a group is for; if steps over-sample, the present one.
  [[nodiscard]] std::int64_t step_of(GroupId group) const {
    return over_samples() ? step_ : group.value() / range_.per_step;
  }
  /// The group to be lent next: the lowest id that waits and whose step is open, if there is room.
  [[nodiscard]] std::optional<GroupId> next(const VersionPolicy& policy,
                                            WeightVersion published) const;
  /// Whether a group that waits could be lent now too, in another order than next()'s.
  [[nodiscard]] bool may_lend(GroupId group, const VersionPolicy& policy,
                              WeightVersion published) const;
  /// How many next() would give if each were lent.
  [[nodiscard]] std::int64_t available(const VersionPolicy& policy, WeightVersion published) const;

  /// Takes the group that next() gave, or that may_lend().
  void lend(GroupId group, LeaseId lease);
  /// A lent group waits again, with what it had when it was lent.
  void give_back(GroupId group);
  /// A lent group waits again, or one that waits already, and has new tokens; `oldest`: their
  /// oldest version, invalid if there are none at all.
  void hand_back(GroupId group, WeightVersion oldest);
  /// The tokens that it kept are not wanted any more.
  void forget_tokens(GroupId group);
  enum class Stored : std::uint8_t { yes, unexpected, discarded };
  /// A lent or waiting group has arrived; `samples` is not empty.
  [[nodiscard]] Stored store(GroupId group, std::vector<sample::SampleSummary> samples);
  /// A stored group is no good: it waits again.
  void reject(GroupId group);
  /// A group leaves for good, in whatever state it is; it may still arrive.
  void discard(GroupId group);
  /// A stored group is not accepted: it leaves for good, and another takes its place.
  void filter_out(GroupId group);
  /// Stored groups leave the ledger; their samples, by id.
  [[nodiscard]] std::vector<sample::SampleSummary> take(std::span<const GroupId> groups);

  /// All groups that were ever lent and are not taken.
  [[nodiscard]] std::vector<OpenGroup> open_groups() const;
  [[nodiscard]] std::int64_t fresh() const { return fresh_; }
  /// Goes on from a checkpoint; lent groups wait. `state` has all samples of stored groups.
  void restore(const BufferState& state, const std::function<int(GroupId)>& owner_of);

  [[nodiscard]] const Group* find(GroupId group) const;
  [[nodiscard]] const std::map<GroupId, Group>& groups() const { return groups_; }
  /// True if every group below `end` has been stored or taken.
  [[nodiscard]] bool complete_below(GroupId end) const;
  /// Those that engines work on.
  [[nodiscard]] std::vector<GroupId> lent_groups() const;
  [[nodiscard]] std::vector<GroupId> stored_groups() const;
  [[nodiscard]] const DrawCounter& draw() const { return draw_; }
  [[nodiscard]] std::int64_t stored() const { return stored_; }
  [[nodiscard]] std::int64_t lent() const { return lent_; }
  [[nodiscard]] std::int64_t groups_per_step() const { return range_.per_step; }

 private:
  [[nodiscard]] bool over_samples() const { return range_.per_draw > 0; }
  [[nodiscard]] bool lent(const Group& group) const {
    return !group.waiting && group.samples.empty();
  }
  [[nodiscard]] std::optional<GroupId> next_drawn(const VersionPolicy& policy,
                                                  WeightVersion published) const;
  /// Groups that wait and that the present step waits for.
  [[nodiscard]] std::vector<GroupId> due_groups(const VersionPolicy& policy) const;
  [[nodiscard]] bool is_open(const VersionPolicy& policy, WeightVersion published) const;
  /// Groups that the present draw still lends.
  [[nodiscard]] std::int64_t places() const;
  [[nodiscard]] std::int64_t room() const { return capacity_ - stored_ - lent_; }
  [[nodiscard]] std::int64_t end_group() const { return range_.end_step * range_.per_step; }
  GroupRange range_;
  std::int64_t capacity_;
  std::map<GroupId, Group> groups_;  ///< all that were ever lent and are not taken
  std::set<GroupId> waiting_;        ///< those that came back
  std::int64_t fresh_;               ///< lowest group that was never lent
  std::int64_t stored_ = 0;
  std::int64_t lent_ = 0;
  std::int64_t arrivals_ = 0;
  // Of a ledger whose steps over-sample.
  std::int64_t step_;
  DrawCounter draw_;
  IdSet discarded_;
};

}  // namespace physarum::buffer
