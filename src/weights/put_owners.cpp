#include "put_owners.hpp"

#include <algorithm>

namespace physarum::weights {
namespace {

/// The bytes [begin, end) of each run, as offsets of the first one.
ShardSlice part_of_runs(const ShardSlice& slice, Range runs) {
  ShardSlice part = slice;
  part.image.offset = runs.begin;
  part.image.length = runs.size();
  part.shard_offset += runs.begin - slice.image.offset;
  return part;
}

Range first_run(const ShardSlice& slice) {
  return {slice.image.offset, slice.image.offset + slice.image.length};
}

/// Where slices begin or end: between two neighbours all bytes have the same holders.
std::vector<std::int64_t> borders(const std::vector<PutOwners::Held>& held) {
  std::vector<std::int64_t> all;
  for (const auto& [rank, slice] : held) {
    all.push_back(first_run(slice).begin);
    all.push_back(first_run(slice).end);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

void PutOwners::give_out(const std::vector<Held>& held) {
  const auto places = borders(held);
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    const Range runs{places[i], places[i + 1]};
    std::vector<Held> holders;
    for (const auto& [rank, slice] : held) {
      const Range of = first_run(slice);
      if (of.begin <= runs.begin && runs.end <= of.end) {
        holders.push_back({rank, part_of_runs(slice, runs)});
      }
    }
    if (holders.size() == 1) {
      put(holders.front());
    } else if (!holders.empty()) {
      choices_.push_back(std::move(holders));
    }
  }
}

std::vector<std::vector<ShardSlice>> PutOwners::finish() {
  std::vector<std::int64_t> load;
  for (const auto& slices : puts_) load.push_back(bytes_of(slices));
  // The largest first: the small ones then even out what is left.
  std::ranges::stable_sort(choices_, std::ranges::greater{}, [](const std::vector<Held>& holders) {
    return holders.front().slice.image.bytes();
  });
  const auto load_of = [&load](const Held& held) -> std::int64_t& {
    return load[static_cast<std::size_t>(held.rank)];
  };
  for (const auto& holders : choices_) {
    const Held& owner = *std::ranges::min_element(holders, {}, load_of);
    load_of(owner) += owner.slice.image.bytes();
    put(owner);
  }
  for (auto& slices : puts_) {
    std::ranges::sort(slices, {}, [](const ShardSlice& slice) { return slice.image.offset; });
  }
  return std::move(puts_);
}

}  // namespace physarum::weights
