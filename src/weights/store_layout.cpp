#include "store_layout.hpp"

#include <algorithm>

#include "physarum/base/bytes.hpp"
#include "physarum/base/contracts.hpp"
#include "physarum/base/hash.hpp"

#include "store_words.hpp"

namespace physarum::weights {
namespace {

constexpr std::int64_t line = 64;
constexpr std::int64_t padded_to_line(std::int64_t bytes) {
  return (bytes + line - 1) / line * line;
}

/// A delta above a quarter of its range is not worth the ring's memory: the version goes out in
/// full, as it does for less if that is faster (DeltaRule). The constant leaves room for frame
/// heads in small regions.
std::int64_t capacity_of(Range bytes) { return padded_to_line(bytes.size() / 4 + 4096); }

}  // namespace

StoreLayout::StoreLayout(const Catalogue& catalogue, const WeightOptions& options, int buffer_ranks,
                         int trainer_ranks)
    : image_bytes_(catalogue.total_bytes()),
      type_(catalogue.type()),
      mode_(options.mode),
      ring_(options.mode == UpdateMode::full ? 0 : options.delta_ring + 1),
      full_interval_(options.full_interval),
      buffers_(buffer_ranks),
      trainers_(trainer_ranks) {
  base::expects(buffer_ranks >= 1 && trainer_ranks >= 1, "a weight store has both ends");
  for (int buffer = 0; buffer < buffers_; ++buffer) {
    std::vector<Region> regions;
    Sizes sizes;
    for (int trainer = 0; trainer < trainers_; ++trainer) {
      const Range a = shard(buffer);
      const Range b = share(trainer);
      const Range both{std::max(a.begin, b.begin), std::min(a.end, b.end)};
      if (both.size() <= 0) continue;
      regions.push_back({trainer, buffer, both, static_cast<std::int64_t>(regions.size()),
                         sizes.frames, capacity_of(both)});
      sizes.frames += regions.back().capacity;
    }
    sizes.shard = padded_to_line(shard(buffer).size());
    sizes.digests = padded_to_line(blocks_of(shard(buffer)) * digest_bytes);
    sizes.lengths = padded_to_line(static_cast<std::int64_t>(regions.size()) * 8);
    regions_.push_back(std::move(regions));
    sizes_.push_back(sizes);
  }
  base::ByteWriter writer;
  writer.put(catalogue.hash());
  writer.put(ring_);
  writer.put(buffers_);
  writer.put(trainers_);
  writer.put(block_bytes);
  writer.put(static_cast<std::int64_t>(options.carrier));
  writer.put(static_cast<std::int64_t>(options.mode));
  const base::Bytes record = writer.take();
  hash_ = base::hash64(record);
}

std::int64_t StoreLayout::blocks_of(Range bytes) {
  return (bytes.size() + block_bytes - 1) / block_bytes;
}

std::int64_t StoreLayout::blocks() const { return blocks_of({0, image_bytes_}); }

std::vector<Region> StoreLayout::regions_of_trainer(int trainer) const {
  std::vector<Region> mine;
  for (const std::vector<Region>& of_buffer : regions_) {
    for (const Region& region : of_buffer) {
      if (region.trainer == trainer) mine.push_back(region);
    }
  }
  return mine;
}

std::span<const Region> StoreLayout::regions_of_buffer(int buffer) const {
  return regions_[static_cast<std::size_t>(buffer)];
}

const StoreLayout::Sizes& StoreLayout::sizes(int buffer) const {
  return sizes_[static_cast<std::size_t>(buffer)];
}

std::uint64_t StoreLayout::slot_offset(int buffer, std::int64_t slot) const {
  const std::int64_t words = padded_to_line(StoreWords::count(ring_) * 8);
  return static_cast<std::uint64_t>(words + slot * sizes(buffer).slot());
}

std::uint64_t StoreLayout::slot_digests_offset(int buffer, std::int64_t slot) const {
  return slot_offset(buffer, slot) + static_cast<std::uint64_t>(sizes(buffer).shard);
}

std::int64_t StoreLayout::entry_offset(int buffer, std::int64_t entry) const {
  return static_cast<std::int64_t>(slot_offset(buffer, 2)) + entry * sizes(buffer).entry();
}

std::uint64_t StoreLayout::lengths_offset(int buffer, std::int64_t entry) const {
  return static_cast<std::uint64_t>(entry_offset(buffer, entry));
}

std::uint64_t StoreLayout::entry_digests_offset(int buffer, std::int64_t entry) const {
  return static_cast<std::uint64_t>(entry_offset(buffer, entry) + sizes(buffer).lengths);
}

std::uint64_t StoreLayout::frames_offset(const Region& region, std::int64_t entry) const {
  const Sizes& of = sizes(region.buffer);
  return static_cast<std::uint64_t>(entry_offset(region.buffer, entry) + of.lengths + of.digests +
                                    region.offset);
}

std::int64_t StoreLayout::window_bytes(int buffer) const { return entry_offset(buffer, ring_); }

std::uint64_t StoreLayout::digest_place(int buffer, Range bytes) const {
  return static_cast<std::uint64_t>((bytes.begin - shard(buffer).begin) / block_bytes *
                                    digest_bytes);
}

}  // namespace physarum::weights
