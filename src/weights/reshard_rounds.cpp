#include "physarum/weights/reshard_rounds.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"

namespace physarum::weights {
namespace {

/// An element is never cut in two, of whatever type.
constexpr std::int64_t unit_bytes = 4;

std::int64_t whole_units(std::int64_t round_bytes) {
  base::expects(round_bytes >= unit_bytes, "a round holds an element");
  return round_bytes / unit_bytes * unit_bytes;
}

}  // namespace

StoreShards::StoreShards(std::int64_t image_bytes, std::int64_t buffer_ranks)
    : image_bytes_(image_bytes), buffers_(buffer_ranks) {
  base::expects(buffer_ranks >= 1, "somebody keeps the image");
}

Range StoreShards::of(std::int64_t buffer) const {
  base::expects(buffer >= 0 && buffer < buffers_, "a rank of the store's layout");
  const std::int64_t blocks = (image_bytes_ + block_bytes - 1) / block_bytes;
  const std::int64_t first = blocks * buffer / buffers_;
  const std::int64_t last = blocks * (buffer + 1) / buffers_;
  return {std::min(first * block_bytes, image_bytes_), std::min(last * block_bytes, image_bytes_)};
}

std::int64_t StoreShards::holder(std::int64_t byte) const {
  base::expects(byte >= 0 && byte < image_bytes_, "a byte of the image");
  const std::int64_t blocks = (image_bytes_ + block_bytes - 1) / block_bytes;
  std::int64_t buffer = byte / block_bytes * buffers_ / blocks;
  while (of(buffer).end <= byte) ++buffer;
  return buffer;
}

RoundCutter::RoundCutter(std::span<const ShardSlice> slices, const StoreShards& store,
                         std::int64_t round_bytes)
    : slices_(slices), store_(store), round_bytes_(whole_units(round_bytes)) {}

std::vector<Transfer> RoundCutter::next() {
  std::vector<Transfer> round;
  for (std::int64_t left = round_bytes_; left > 0 && slice_ < slices_.size();) {
    round.push_back(cut(left));
    left -= round.back().store.bytes();
  }
  return round;
}

/// From where the last one ended: whole runs if there is room for one, otherwise a part of a run;
/// never beyond what one buffer rank keeps.
Transfer RoundCutter::cut(std::int64_t most_bytes) {
  const ShardSlice& slice = slices_[slice_];
  const StridedRange& image = slice.image;
  const std::int64_t run = done_ / image.length;
  const std::int64_t inside = done_ % image.length;
  const std::int64_t begin = image.offset + run * image.stride + inside;
  const std::int64_t buffer = store_.holder(begin);
  const Range kept = store_.of(buffer);
  Transfer transfer;
  transfer.buffer = buffer;
  transfer.store = {begin - kept.begin, image.length, 1, image.stride};
  transfer.shard_offset = slice.shard_offset + run * slice.shard_stride + inside;
  transfer.shard_stride = slice.shard_stride;
  const std::int64_t room = kept.end - begin;
  if (inside == 0 && image.length <= std::min(most_bytes, room)) {
    const std::int64_t fit = image.count == 1 ? 1 : (room - image.length) / image.stride + 1;
    transfer.store.count = std::min({image.count - run, most_bytes / image.length, fit});
  } else {
    transfer.store.length = std::min({image.length - inside, most_bytes, room});
  }
  done_ += transfer.store.bytes();
  if (done_ == image.bytes()) {
    ++slice_;
    done_ = 0;
  }
  return transfer;
}

std::int64_t rounds_for(std::int64_t bytes, std::int64_t round_bytes) {
  const std::int64_t full = whole_units(round_bytes);
  return (bytes + full - 1) / full;
}

}  // namespace physarum::weights
