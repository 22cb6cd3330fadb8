#include "version_sender.hpp"

#include <algorithm>
#include <cstring>

#include "physarum/parallel/wait.hpp"

#include "store_words.hpp"

namespace physarum::weights {

VersionSender::VersionSender(const StoreLayout& layout, int buffer,
                             std::span<const std::byte> memory, StoreAccess& store, Ends ends)
    : layout_(layout), buffer_(buffer), memory_(memory), store_(store), ends_(std::move(ends)) {}

bool VersionSender::advance() {
  bool any = ends_.stream.advance();
  any = forget_taken() || any;
  check_patience();
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, layout_.ring() - 1));
  if (under_way_.size() >= most) return any;
  const auto candidate = next();
  return (candidate && send(*candidate)) || any;
}

bool VersionSender::forget_taken() {
  const std::size_t before = under_way_.size();
  while (!under_way_.empty() && ends_.stream.taken() >= under_way_.front().messages) {
    under_way_.pop_front();
  }
  return under_way_.size() < before;
}

void VersionSender::check_patience() const {
  if (under_way_.empty() || !under_way_.front().deadline.expired()) return;
  const UnderWay& oldest = under_way_.front();
  std::string late;
  for (const int rank : ends_.stream.awaited(oldest.messages)) {
    late += (late.empty() ? "" : ", ") +
            std::to_string(ends_.pull_ranks[static_cast<std::size_t>(rank)]);
  }
  const parallel::Phase phase("broadcast weights");
  parallel::throw_deadline("buffer rank " + std::to_string(buffer_),
                           "rank " + late + " in 'pull' to take weight version " +
                               std::to_string(oldest.version.value()),
                           oldest.deadline);
}

std::optional<VersionSender::Candidate> VersionSender::next() const {
  const std::uint64_t active = store_.load(buffer_, StoreWords::active);
  if (active == 0) return std::nullopt;
  const auto slot = static_cast<std::int64_t>(active) - 1;
  const auto base = StoreWords::version(store_.load(buffer_, StoreWords::base(slot)));
  if (!base.valid()) return std::nullopt;
  if (base > sent_) {
    const auto before = StoreWords::version(store_.load(buffer_, StoreWords::before(slot)));
    return Candidate{base, before, slot, -1};
  }
  for (std::int64_t entry = 0; entry < layout_.ring(); ++entry) {
    const auto target = StoreWords::version(store_.load(buffer_, StoreWords::entry(entry)));
    if (target <= sent_) continue;
    const std::uint64_t from = store_.load(buffer_, StoreWords::entry_base(entry));
    if (from == StoreWords::of(sent_)) return Candidate{target, sent_, -1, entry};
  }
  return std::nullopt;
}

bool VersionSender::still_there(const Candidate& candidate) const {
  const std::uint64_t word = StoreWords::of(candidate.version);
  if (candidate.slot < 0) {
    return store_.load(buffer_, StoreWords::entry(candidate.entry)) == word;
  }
  return store_.load(buffer_, StoreWords::base(candidate.slot)) == word;
}

std::vector<VersionSender::Extent> VersionSender::extents(const Candidate& candidate) const {
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
/// when its bytes are taken. False: the version is not there any more.
bool VersionSender::send(const Candidate& candidate) {
  if (candidate.slot >= 0) {
    store_.store(buffer_, StoreWords::busy, static_cast<std::uint64_t>(candidate.slot) + 1);
  }
  std::vector<base::Bytes> bodies;
  std::vector<Extent> places;
  if (still_there(candidate)) {
    store_.sync();
    places = extents(candidate);
    for (const Extent& place : places) {
      const auto bytes = memory_.subspan(static_cast<std::size_t>(place.offset), place.bytes);
      bodies.emplace_back(bytes.begin(), bytes.end());
    }
  }
  const bool whole = !bodies.empty() && still_there(candidate);
  if (candidate.slot >= 0) store_.store(buffer_, StoreWords::busy, 0);
  if (!whole) return false;
  VersionPart part;
  part.version = candidate.version.value();
  part.before = candidate.before.value();
  part.slot = candidate.slot;
  part.entry = candidate.entry;
  part.parts = static_cast<std::int64_t>(places.size());
  for (; part.part < part.parts; ++part.part) {
    const auto index = static_cast<std::size_t>(part.part);
    part.offset = places[index].offset;
    if (ends_.own != nullptr) {
      const auto to = ends_.own->place(buffer_, part, bodies[index].size());
      std::copy(bodies[index].begin(), bodies[index].end(), to.begin());
      ends_.own->complete(buffer_, part);
    }
    ends_.stream.send(std::as_bytes(std::span(&part, 1)), std::move(bodies[index]));
  }
  sent_ = candidate.version;
  under_way_.push_back(
      {candidate.version, ends_.stream.sent(), base::Deadline::in(ends_.patience_s)});
  return true;
}

}  // namespace physarum::weights
