#include <algorithm>

#include "block_digests.hpp"
#include "puller_impl.hpp"

// Between the halves of a pull: the plan as pieces to fetch, and the digests that they add to.
namespace physarum::weights {
namespace {
constexpr std::int64_t longest_piece = std::int64_t{1} << 18;
}  // namespace

void Puller::Impl::queue_pieces(const std::vector<std::vector<std::uint64_t>>& lengths) {
  deltas_.clear();
  pieces_.clear();
  next_piece_ = arrived_ = digested_ = next_delta_ = delta_offset_ = 0;
  next_block_ = 0;
  begin_digests();
  std::size_t at = 0;
  for (int buffer = 0; buffer < layout_.buffer_ranks(); ++buffer) {
    const ShardPlan& plan = plan_of(buffer);
    if (plan.slot >= 0 && !plan.slot_taken) {
      queue_shard(buffer, plan.slot);
    }
    for (const DeltaPlace& place : plan.chain) {
      const auto& of_regions = lengths[at++];
      for (const Region& region : layout_.regions_of_buffer(buffer)) {
        const std::uint64_t length = of_regions[static_cast<std::size_t>(region.index)];
        if (length > static_cast<std::uint64_t>(region.capacity)) return lost_race();
        if (length == 0) continue;
        deltas_.push_back(
            {&region, place.step, std::vector<std::byte>(static_cast<std::size_t>(length))});
        queue_frames(deltas_.back().frames, buffer, layout_.frames_offset(region, place.entry));
      }
    }
  }
  result_.deltas = static_cast<std::int64_t>(plans_.front().chain.size());
  stage_ = Stage::fetch;
}

/// What the image's digests are before anything is fetched. Those of a shard that comes in full
/// are made piece by piece; one that has come already, and waits for more deltas, has them.
void Puller::Impl::begin_digests() {
  const bool whole = std::all_of(plans_.begin(), plans_.end(),
                                 [](const ShardPlan& plan) { return plan.slot >= 0; });
  const bool known = std::ssize(image_->block_digests()) == layout_.blocks();
  const bool taken = std::any_of(plans_.begin(), plans_.end(),
                                 [](const ShardPlan& plan) { return plan.slot_taken; });
  if (taken) return;
  held_.clear();
  if (check_ == PullCheck::every_byte || !(whole || known)) return;
  held_ = digests_of_zeros(layout_.image_bytes());
  for (int buffer = 0; buffer < layout_.buffer_ranks(); ++buffer) {
    if (plan_of(buffer).slot >= 0) continue;
    const auto held = held_of(layout_.shard(buffer));
    std::copy_n(image_->block_digests().begin() + (held.data() - held_.data()), held.size(),
                held.begin());
  }
}

std::span<base::Digest> Puller::Impl::held_of(Range bytes) {
  if (held_.empty()) return {};
  const std::int64_t first = bytes.begin / StoreLayout::block_bytes;
  return slice(std::span(held_), {first, first + StoreLayout::blocks_of(bytes)});
}

void Puller::Impl::queue_shard(int buffer, std::int64_t slot) {
  const std::int64_t piece_bytes = std::min(longest_piece, buffer_bytes_) / 64 * 64;
  const Range shard = layout_.shard(buffer);
  for (std::int64_t begin = shard.begin; begin < shard.end; begin += piece_bytes) {
    const Range piece{begin, std::min(begin + piece_bytes, shard.end)};
    pieces_.push_back(
        {slice(image_->bytes(), piece), buffer,
         layout_.slot_offset(buffer, slot) + static_cast<std::uint64_t>(begin - shard.begin),
         begin});
  }
}

void Puller::Impl::queue_frames(std::span<std::byte> to, int buffer, std::uint64_t offset) {
  const auto piece_bytes = static_cast<std::size_t>(std::min(longest_piece, buffer_bytes_));
  for (std::size_t done = 0; done < to.size(); done += piece_bytes) {
    pieces_.push_back(
        {to.subspan(done, std::min(piece_bytes, to.size() - done)), buffer, offset + done, -1});
  }
}

}  // namespace physarum::weights
