// BufferState as datasets of a checkpoint; docs/formats/checkpoint.md.
#include <algorithm>
#include <map>
#include <string>

#include "physarum/base/error.hpp"

#include "physarum/sample/sample_file.hpp"

#include "physarum/buffer/buffer_state.hpp"

namespace physarum::buffer {

namespace {

constexpr const char* samples_prefix = "buffer/samples/";
constexpr const char* unfinished_prefix = "buffer/unfinished/";

/// One list of the counters for both directions.
void visit_counters(auto& counters, auto&& visit) {
  visit("expired_leases", counters.expired_leases);
  visit("returned_leases", counters.returned_leases);
  visit("repeated_groups", counters.repeated_groups);
  visit("aborted_groups", counters.aborted_groups);
  visit("stale_groups", counters.stale_groups);
  visit("malformed_messages", counters.malformed_messages);
}

/// Those that came with unfinished groups.
void visit_later_counters(auto& counters, auto&& visit) {
  visit("recalled_groups", counters.recalled_groups);
  visit("resumed_groups", counters.resumed_groups);
  visit("discarded_groups", counters.discarded_groups);
  visit("filtered_groups", counters.filtered_groups);
  visit("reused_tokens", counters.reused_tokens);
}

[[noreturn]] void refuse(const storage::File& file, const std::string& what) {
  throw base::UserError("the buffer's state is wrong: " + what, file.path().string() + ":buffer",
                        "load another checkpoint");
}

std::vector<sample::SampleGroup> grouped(std::vector<sample::Sample> samples,
                                         sample::Purpose purpose) {
  std::map<base::GroupId, sample::SampleGroup> groups;
  for (auto& one : samples) {
    auto& group = groups[one.group];
    group.id = one.group;
    group.prompt = one.prompt;
    group.purpose = purpose;
    group.lease = one.lease;
    group.samples.push_back(std::move(one));
  }
  std::vector<sample::SampleGroup> list;
  for (auto& [id, group] : groups) list.push_back(std::move(group));
  return list;
}

void check_samples(const storage::File& file, const std::vector<sample::SampleGroup>& groups) {
  for (const auto& group : groups) {
    for (const auto& one : group.samples) {
      if (one.status > sample::SampleStatus::failed) refuse(file, "a sample's status is unknown");
    }
    if (const auto fault = find_fault(group)) refuse(file, *fault);
  }
}

void check_unfinished(const storage::File& file, const BufferState& state) {
  check_samples(file, state.unfinished);
  for (const auto& group : state.unfinished) {
    const auto open = std::ranges::lower_bound(state.open, group.id, {}, &OpenGroup::group);
    const bool fits = open != state.open.end() && open->group == group.id &&
                      open->state != OpenGroup::State::stored && group.has_aborted();
    if (!fits) refuse(file, "it has samples of a group that is not unfinished");
  }
}

void check(const storage::File& file, const BufferState& state) {
  if (state.step < 0 || state.fresh_group < 0 || state.next_lease < 0)
    refuse(file, "a count is negative");
  std::size_t stored = 0;
  base::GroupId last(-1);
  for (const auto& open : state.open) {
    if (open.group <= last || open.group.value() >= state.fresh_group)
      refuse(file, "its groups are out of order");
    if (open.resumes < 0) refuse(file, "a count is negative");
    last = open.group;
    if (open.state != OpenGroup::State::stored) {
      if (open.history.empty()) refuse(file, "an unfinished group was never lent");
      continue;
    }
    if (stored == state.groups.size() || state.groups[stored].id != open.group)
      refuse(file, "group " + std::to_string(open.group.value()) + " has no samples");
    ++stored;
  }
  if (stored != state.groups.size()) refuse(file, "it has samples of groups that are not stored");
  check_samples(file, state.groups);
  check_unfinished(file, state);
}

void write_table(storage::File& file, const char* prefix,
                 const std::vector<sample::SampleGroup>& groups) {
  std::vector<const sample::Sample*> samples;
  for (const auto& group : groups) {
    for (const auto& one : group.samples) samples.push_back(&one);
  }
  sample::write_sample_table(file, prefix, samples);
}

}  // namespace

void BufferState::write(storage::File& file) const {
  std::vector<std::int64_t> ids, leases, ends, versions, resumes;
  std::vector<std::uint8_t> states;
  for (const auto& one : open) {
    ids.push_back(one.group.value());
    states.push_back(static_cast<std::uint8_t>(one.state));
    for (const auto lease : one.history) leases.push_back(lease.value());
    ends.push_back(static_cast<std::int64_t>(leases.size()));
    resumes.push_back(one.resumes);
  }
  for (const auto version : evaluations) versions.push_back(version.value());
  file.create_group("buffer");
  file.set_attribute("buffer", "purpose", static_cast<std::int64_t>(purpose));
  file.set_attribute("buffer", "step", step);
  file.set_attribute("buffer", "fresh_group", fresh_group);
  file.set_attribute("buffer", "next_lease", next_lease);
  const auto write_counter = [&](const char* name, std::int64_t count) {
    file.set_attribute("buffer", name, count);
  };
  visit_counters(counters, write_counter);
  visit_later_counters(counters, write_counter);
  file.write_text("buffer/report", report);
  file.write_concatenated<std::int64_t>("buffer/evaluations", versions);
  file.write_concatenated<std::int64_t>("buffer/groups/id", ids);
  file.write_concatenated<std::uint8_t>("buffer/groups/state", states);
  file.write_concatenated<std::int64_t>("buffer/groups/history/values", leases);
  file.write_concatenated<std::int64_t>("buffer/groups/history/ends", ends);
  file.write_concatenated<std::int64_t>("buffer/groups/resumes", resumes);
  write_table(file, samples_prefix, groups);
  write_table(file, unfinished_prefix, unfinished);
}

BufferState BufferState::read(const storage::File& file) {
  BufferState state;
  const auto purpose = file.integer_attribute("buffer", "purpose");
  if (purpose < 0 || purpose > static_cast<std::int64_t>(sample::Purpose::supervised))
    refuse(file, "its purpose is unknown");
  state.purpose = static_cast<sample::Purpose>(purpose);
  state.step = file.integer_attribute("buffer", "step");
  state.fresh_group = file.integer_attribute("buffer", "fresh_group");
  state.next_lease = file.integer_attribute("buffer", "next_lease");
  const auto read_counter = [&](const char* name, std::int64_t& count) {
    count = file.integer_attribute("buffer", name);
  };
  visit_counters(state.counters, read_counter);
  // Version 1 of a checkpoint had no unfinished groups.
  const bool keeps_unfinished = file.contains("buffer/unfinished");
  if (keeps_unfinished) visit_later_counters(state.counters, read_counter);
  state.report = file.read_text("buffer/report");
  for (const auto version : file.read_dataset<std::int64_t>("buffer/evaluations"))
    state.evaluations.emplace_back(version);
  const auto ids = file.read_dataset<std::int64_t>("buffer/groups/id");
  const storage::Extent rows{ids.size()};
  const auto states = file.read_dataset<std::uint8_t>("buffer/groups/state", rows);
  const auto ends = file.read_dataset<std::int64_t>("buffer/groups/history/ends", rows);
  const auto leases = file.read_dataset<std::int64_t>("buffer/groups/history/values");
  std::vector<std::int64_t> resumes(ids.size());
  if (keeps_unfinished) resumes = file.read_dataset<std::int64_t>("buffer/groups/resumes", rows);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t end = ends[i];
    if (end < begin || end > static_cast<std::int64_t>(leases.size()) ||
        states[i] > static_cast<std::uint8_t>(OpenGroup::State::stored)) {
      refuse(file, "its table of groups does not fit together");
    }
    OpenGroup open{base::GroupId(ids[i]), static_cast<OpenGroup::State>(states[i]), {}, resumes[i]};
    for (; begin < end; ++begin) open.history.emplace_back(leases[static_cast<std::size_t>(begin)]);
    state.open.push_back(std::move(open));
  }
  state.groups = grouped(sample::read_sample_table(file, samples_prefix), state.purpose);
  if (keeps_unfinished) {
    state.unfinished = grouped(sample::read_sample_table(file, unfinished_prefix), state.purpose);
  }
  check(file, state);
  return state;
}

}  // namespace physarum::buffer
