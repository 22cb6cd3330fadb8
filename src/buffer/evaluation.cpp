#include "evaluation.hpp"

#include <algorithm>
#include <iterator>

#include "physarum/base/contracts.hpp"

#include "statistics.hpp"

namespace physarum::buffer {

Evaluation::Evaluation(const std::vector<EvaluationSet>& sets, WeightVersion version)
    : sets_(sets), version_(version) {
  std::int64_t samples = 0;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    const std::int64_t size = sets[set].prompts->size();
    const std::int64_t count = sets[set].n_prompts > 0 ? std::min(sets[set].n_prompts, size) : size;
    for (std::int64_t prompt = 0; prompt < count; ++prompt) {
      Place place;
      place.set = set;
      place.prompt = prompt;
      place.sample_offset = samples;
      places_.push_back(std::move(place));
      samples += sets[set].n_samples;
    }
  }
  first_group_ = first_evaluation_id + version.value() * total();
  first_sample_ = first_evaluation_id + version.value() * samples;
}

Evaluation::Task Evaluation::task(std::size_t place) const {
  Task task;
  task.group = GroupId(first_group_ + static_cast<std::int64_t>(place));
  task.set = places_[place].set;
  task.prompt = places_[place].prompt;
  task.first_sample = SampleId(first_sample_ + places_[place].sample_offset);
  task.history = places_[place].history;
  task.attempts = static_cast<std::int64_t>(task.history.size());
  return task;
}

std::optional<Evaluation::Task> Evaluation::next() const {
  if (!waiting_.empty()) return task(*waiting_.begin());
  if (fresh_ < places_.size()) return task(fresh_);
  return {};
}

std::int64_t Evaluation::available() const {
  return static_cast<std::int64_t>(waiting_.size() + places_.size() - fresh_);
}

std::optional<std::size_t> Evaluation::place_of(GroupId group) const {
  const std::int64_t place = group.value() - first_group_;
  if (!is_evaluation(group) || place < 0 || place >= total()) return {};
  return static_cast<std::size_t>(place);
}

void Evaluation::lend(GroupId group, LeaseId lease) {
  const auto place = place_of(group);
  base::expects(
      place && places_[*place].state != State::lent && places_[*place].state != State::stored,
      "only a task that waits is lent");
  if (*place == fresh_) {
    ++fresh_;
  } else {
    waiting_.erase(*place);
  }
  places_[*place].state = State::lent;
  places_[*place].history.push_back(lease);
}

void Evaluation::give_back(GroupId group) {
  const auto place = place_of(group);
  base::expects(place && places_[*place].state == State::lent, "only a lent task is given back");
  places_[*place].state = State::waiting;
  waiting_.insert(*place);
}

bool Evaluation::store(GroupId group, std::vector<sample::SampleSummary> samples) {
  const auto place = place_of(group);
  if (!place) return false;
  auto& record = places_[*place];
  if (record.state != State::lent && record.state != State::waiting) return false;
  if (static_cast<std::int64_t>(samples.size()) != sets_[record.set].n_samples) return false;
  waiting_.erase(*place);
  record.state = State::stored;
  record.samples = std::move(samples);
  ++stored_;
  return true;
}

std::int64_t Evaluation::attempts(GroupId group) const {
  const auto place = place_of(group);
  return place ? static_cast<std::int64_t>(places_[*place].history.size()) : 0;
}

std::vector<GroupId> Evaluation::groups() const {
  std::vector<GroupId> groups;
  for (std::int64_t place = 0; place < total(); ++place) groups.emplace_back(first_group_ + place);
  return groups;
}

base::Scalars Evaluation::metrics() const {
  base::Scalars all;
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    std::vector<sample::SampleSummary> samples;
    for (const auto& place : places_) {
      if (place.set == set)
        samples.insert(samples.end(), place.samples.begin(), place.samples.end());
    }
    all.merge(evaluation_metrics(sets_[set].name, samples));
  }
  return all;
}

}  // namespace physarum::buffer
