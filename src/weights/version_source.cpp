#include "version_source.hpp"

#include <algorithm>
#include <cstring>

#include "store_words.hpp"

namespace physarum::weights {

std::optional<VersionSource::Candidate> VersionSource::next(base::WeightVersion taken) const {
  const std::uint64_t active = store_.load(buffer_, StoreWords::active);
  if (active == 0) return std::nullopt;
  const auto slot = static_cast<std::int64_t>(active) - 1;
  const auto base = StoreWords::version(store_.load(buffer_, StoreWords::base(slot)));
  if (!base.valid()) return std::nullopt;
  if (base > taken) {
    const auto before = StoreWords::version(store_.load(buffer_, StoreWords::before(slot)));
    return Candidate{base, before, slot, -1};
  }
  const auto delta = find_delta(store_, buffer_, layout_.ring(), taken);
  if (!delta) return std::nullopt;
  return Candidate{delta->target, taken, -1, delta->entry};
}

bool VersionSource::still_there(const Candidate& candidate) const {
  const std::uint64_t word = StoreWords::of(candidate.version);
  if (candidate.slot < 0) {
    return store_.load(buffer_, StoreWords::entry(candidate.entry)) == word;
  }
  return store_.load(buffer_, StoreWords::base(candidate.slot)) == word;
}

std::vector<VersionSource::Extent> VersionSource::extents(const Candidate& candidate) const {
  const auto digests = static_cast<std::size_t>(StoreLayout::blocks_of(layout_.shard(buffer_)) *
                                                StoreLayout::digest_bytes);
  const auto from_to = [](std::uint64_t begin, std::uint64_t end) {
    return Extent{begin, static_cast<std::size_t>(end - begin)};
  };
  if (candidate.slot >= 0) {  // the shard, and its digests right behind
    return {from_to(layout_.slot_offset(buffer_, candidate.slot),
                    layout_.slot_digests_offset(buffer_, candidate.slot) + digests)};
  }
  const std::int64_t entry = candidate.entry;
  const std::uint64_t lengths = layout_.lengths_offset(buffer_, entry);
  std::vector<Extent> all = {
      from_to(lengths, layout_.entry_digests_offset(buffer_, entry) + digests)};
  for (const Region& region : layout_.regions_of_buffer(buffer_)) {
    std::uint64_t length = 0;
    std::memcpy(&length, memory_.data() + lengths + static_cast<std::size_t>(region.index) * 8,
                sizeof length);
    length = std::min(length, static_cast<std::uint64_t>(region.capacity));
    if (length == 0) continue;
    all.push_back({layout_.frames_offset(region, entry), static_cast<std::size_t>(length)});
  }
  return all;
}

/// A publisher that needs the slot waits while `busy` names it; a ring entry is looked at once more
/// when its bytes are taken.
std::vector<VersionSource::Piece> VersionSource::take(const Candidate& candidate) {
  if (candidate.slot >= 0) {
    store_.store(buffer_, StoreWords::busy, static_cast<std::uint64_t>(candidate.slot) + 1);
  }
  std::vector<Piece> pieces;
  if (still_there(candidate)) {
    store_.sync();
    for (const Extent& place : extents(candidate)) {
      const auto bytes = memory_.subspan(static_cast<std::size_t>(place.offset), place.bytes);
      pieces.push_back({place.offset, base::Bytes(bytes.begin(), bytes.end())});
    }
  }
  if (!still_there(candidate)) pieces.clear();
  if (candidate.slot >= 0) store_.store(buffer_, StoreWords::busy, 0);
  return pieces;
}

}  // namespace physarum::weights
