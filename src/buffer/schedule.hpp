#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "physarum/sample/lease.hpp"
#include "physarum/sample/sample_group.hpp"

#include "physarum/buffer/server_settings.hpp"

#include "evaluation.hpp"
#include "group_ledger.hpp"
#include "prompt_order.hpp"
#include "version_policy.hpp"

namespace physarum::buffer {

/// What is to be done next, over training and evaluation: evaluation first, then returned groups,
/// then fresh ones. Knows nothing of engines, leases' deadlines or messages.
class Schedule {
 public:
  /// A group that keeps coming back unfinished ends the run.
  static constexpr std::int64_t most_attempts = 16;
  /// A step that must draw more often, because all that comes is filtered out, ends the run.
  static constexpr std::int64_t most_draws = 64;

  explicit Schedule(const ServerSettings& settings);

  /// A version can be pulled; starts an evaluation if one is due. False if it is not newer.
  [[nodiscard]] bool publish(WeightVersion version);
  [[nodiscard]] WeightVersion published() const { return published_; }

  /// The next lease, complete except for id and deadline; nothing if there is no work now.
  [[nodiscard]] std::optional<sample::Lease> next() const;
  /// The same for a certain training group that came back; nothing if others are wanted first.
  [[nodiscard]] std::optional<sample::Lease> lease_of(GroupId group) const;
  /// Groups that next() would give one after another.
  [[nodiscard]] std::int64_t available() const;
  /// Takes what next() or lease_of() gave.
  void lend(GroupId group, LeaseId lease);
  /// A lent group comes back. Throws WorldError after too many attempts.
  void give_back(GroupId group);
  enum class Stored : std::uint8_t {
    yes,
    unexpected,  ///< nobody waits for this group
    discarded,   ///< nobody waits for it any more: it was discarded before it came
    filtered,    ///< it is complete, but the dynamic filter does not want it: it has left for good
  };
  /// Throws WorldError if the filter wants next to nothing.
  [[nodiscard]] Stored store(GroupId group, std::vector<sample::SampleSummary> samples);

  /// The group waits to be lent again, and `lease` was its last.
  [[nodiscard]] bool waits_since(GroupId group, LeaseId lease) const;
  /// A recalled group, lent or waiting since then, comes back with what it has. False if it is not
  /// as it was lent.
  [[nodiscard]] bool hand_back(sample::SampleGroup group);
  /// What a group that is about to be lent goes on with; empty if with nothing. Forgets what is too
  /// old to be learnt from.
  [[nodiscard]] std::vector<sample::Sample> begun(GroupId group);
  [[nodiscard]] const std::map<GroupId, sample::SampleGroup>& unfinished() const {
    return unfinished_;
  }
  /// A training group leaves for good.
  void discard(GroupId group);
  /// Why groups of the present step were filtered out, and how many.
  [[nodiscard]] const std::map<std::string, std::int64_t>& drops() const { return drops_; }
  /// The present step is over.
  void forget_drops() { drops_.clear(); }

  [[nodiscard]] GroupLedger& training() { return ledger_; }
  [[nodiscard]] const GroupLedger& training() const { return ledger_; }
  [[nodiscard]] const VersionPolicy& policy() const { return policy_; }

  /// The evaluation that goes on, if any. While one does, no batch is handed out.
  [[nodiscard]] const Evaluation* evaluation() const {
    return evaluations_.empty() ? nullptr : &evaluations_.front();
  }
  /// Versions whose evaluations are not reported.
  [[nodiscard]] std::vector<WeightVersion> open_evaluations() const;
  /// The one that goes on is complete and reported.
  void end_evaluation() { evaluations_.pop_front(); }

  /// The buffer rank that stores a group.
  [[nodiscard]] WorldRank owner_of(GroupId group) const;

 private:
  [[nodiscard]] bool evaluation_due(WeightVersion version) const;
  [[nodiscard]] sample::Lease evaluation_lease(const Evaluation::Task& task) const;
  [[nodiscard]] sample::Lease training_lease(GroupId group) const;
  [[nodiscard]] bool filter_out(GroupId group, std::span<const sample::SampleSummary> samples);
  const ServerSettings& settings_;
  VersionPolicy policy_;
  GroupLedger ledger_;
  std::optional<PromptOrder> order_;
  std::deque<Evaluation> evaluations_;
  std::map<GroupId, sample::SampleGroup> unfinished_;  ///< of groups that wait or are lent again
  std::map<std::string, std::int64_t> drops_;
  void begin_evaluations(WeightVersion version);
  WeightVersion published_, first_version_;
};

/// The buffer rank that stores a group: blocks of consecutive groups of a step, so that a file that
/// the buffer ranks write one after another is in id order.
[[nodiscard]] WorldRank owner_of(GroupId group, const ServerSettings& settings);

}  // namespace physarum::buffer
