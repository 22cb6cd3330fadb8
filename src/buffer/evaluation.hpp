#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "physarum/base/ids.hpp"
#include "physarum/base/metrics.hpp"

#include "physarum/sample/batch.hpp"

#include "physarum/buffer/server_settings.hpp"

namespace physarum::buffer {

using base::GroupId;
using base::LeaseId;
using base::SampleId;

/// Ids of evaluation groups and samples start here: never those of training, so no two samples of a
/// run share random numbers.
inline constexpr std::int64_t first_evaluation_id = std::int64_t{1} << 62;

[[nodiscard]] constexpr bool is_evaluation(GroupId group) {
  return group.value() >= first_evaluation_id;
}

/// One evaluation of one weight version: all prompts of all sets. The ids are a function of the
/// version, so an evaluation can be repeated.
class Evaluation {
 public:
  struct Task {
    GroupId group;
    std::size_t set = 0;
    std::int64_t prompt = 0;
    SampleId first_sample;
    std::int64_t attempts = 0;
    std::vector<LeaseId> history;
  };

  Evaluation(const std::vector<EvaluationSet>& sets, WeightVersion version);

  [[nodiscard]] WeightVersion version() const { return version_; }
  /// The task to be lent next; nothing if all are lent or stored.
  [[nodiscard]] std::optional<Task> next() const;
  /// Tasks that wait to be lent.
  [[nodiscard]] std::int64_t available() const;
  /// Takes the task that next() gave.
  void lend(GroupId group, LeaseId lease);
  void give_back(GroupId group);
  /// False if the group is none of this evaluation's lent or waiting ones.
  [[nodiscard]] bool store(GroupId group, std::vector<sample::SampleSummary> samples);
  [[nodiscard]] std::int64_t attempts(GroupId group) const;

  [[nodiscard]] bool complete() const { return stored_ == total(); }
  [[nodiscard]] std::int64_t total() const { return static_cast<std::int64_t>(places_.size()); }
  [[nodiscard]] std::int64_t stored() const { return stored_; }
  [[nodiscard]] std::vector<GroupId> groups() const;
  /// Of a complete one: eval/<name> and what belongs to it, for every set.
  [[nodiscard]] base::Scalars metrics() const;

 private:
  enum class State : std::uint8_t { fresh, lent, waiting, stored };
  struct Place {
    std::size_t set = 0;
    std::int64_t prompt = 0;
    std::int64_t sample_offset = 0;  ///< samples of the evaluation before this group
    State state = State::fresh;
    std::vector<LeaseId> history;
    std::vector<sample::SampleSummary> samples;
  };
  [[nodiscard]] std::optional<std::size_t> place_of(GroupId group) const;
  [[nodiscard]] Task task(std::size_t place) const;
  const std::vector<EvaluationSet>& sets_;
  WeightVersion version_;
  std::vector<Place> places_;
  std::int64_t first_group_ = 0;
  std::int64_t first_sample_ = 0;
  std::set<std::size_t> waiting_;
  std::size_t fresh_ = 0;
  std::int64_t stored_ = 0;
};

}  // namespace physarum::buffer
