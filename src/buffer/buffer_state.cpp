#include "physarum/buffer/buffer_state.hpp"

#include <algorithm>
#include <iterator>

#include "physarum/base/byte_checks.hpp"

#include "physarum/sample/wire.hpp"

namespace physarum::buffer {

using base::ByteReader;
using base::ByteWriter;

namespace {

constexpr std::size_t least_open_bytes = 25;

void put_open(ByteWriter& out, const std::vector<OpenGroup>& open) {
  out.put<std::uint64_t>(open.size());
  for (const auto& one : open) {
    out.put(one.group);
    out.put(one.state);
    out.put_vector(one.history);
    out.put(one.resumes);
  }
}

std::vector<OpenGroup> get_open(ByteReader& in) {
  std::vector<OpenGroup> open(base::read_count(in, least_open_bytes));
  for (auto& one : open) {
    one.group = in.get<base::GroupId>();
    one.state = base::read_enum(in, OpenGroup::State::stored);
    one.history = in.get_vector<base::LeaseId>();
    one.resumes = in.get<std::int64_t>();
  }
  return open;
}

void put_groups(ByteWriter& out, const std::vector<sample::SampleGroup>& groups) {
  out.put<std::uint64_t>(groups.size());
  for (const auto& group : groups) sample::write(out, group);
}

std::vector<sample::SampleGroup> get_groups(ByteReader& in) {
  std::vector<sample::SampleGroup> groups;
  const auto count = base::read_count(in, 1);
  for (std::size_t i = 0; i < count; ++i) groups.push_back(sample::read_sample_group(in));
  return groups;
}

}  // namespace

base::Bytes BufferState::encode() const {
  ByteWriter out;
  out.put(purpose);
  for (const std::int64_t number : {step, fresh_group, next_lease}) out.put(number);
  put_open(out, open);
  out.put_vector(evaluations);
  out.put(counters);
  out.put_string(report);
  put_groups(out, groups);
  put_groups(out, unfinished);
  return out.take();
}

BufferState BufferState::decode(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  BufferState state;
  state.purpose = base::read_enum(in, sample::Purpose::supervised);
  for (auto* number : {&state.step, &state.fresh_group, &state.next_lease})
    *number = in.get<std::int64_t>();
  state.open = get_open(in);
  state.evaluations = in.get_vector<base::WeightVersion>();
  state.counters = in.get<ServerCounters>();
  state.report = in.get_string();
  state.groups = get_groups(in);
  state.unfinished = get_groups(in);
  in.finish();
  return state;
}

BufferState BufferState::merge(std::vector<BufferState> parts) {
  BufferState all = std::move(parts.at(0));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::move(parts[i].groups.begin(), parts[i].groups.end(), std::back_inserter(all.groups));
  }
  std::ranges::sort(all.groups, {}, &sample::SampleGroup::id);
  return all;
}

}  // namespace physarum::buffer
