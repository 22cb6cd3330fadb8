#include "physarum/weights/weight_store.hpp"

#include <cstring>

#include "physarum/base/deadline.hpp"
#include "physarum/base/logging.hpp"

#include "store_words.hpp"
#include "weight_store_impl.hpp"

namespace physarum::weights {
namespace {
/// Bytes of the image that one turn may cover; some milliseconds.
constexpr std::int64_t turn_bytes = std::int64_t{8} << 20;
}  // namespace

void WeightStore::Impl::initialise(const StoreLayout& layout, int buffer,
                                   std::span<std::byte> memory) {
  // The slots too: memory that nobody has touched is slow at first, and publishers go by the time
  // that their first image takes.
  const auto until_ring = static_cast<std::size_t>(layout.slot_offset(buffer, 2));
  std::memset(memory.data(), 0, until_ring);
  const std::uint64_t hash = layout.hash();
  std::memcpy(memory.data() + StoreWords::offset(StoreWords::layout), &hash, sizeof hash);
}

WeightStore::Impl::Impl(const StoreLayout& layout, int buffer, std::span<std::byte> memory,
                        StoreAccess& access, std::function<bool(base::WeightVersion)> may_fold)
    : layout_(layout),
      buffer_(buffer),
      memory_(memory),
      access_(access),
      may_fold_(std::move(may_fold)),
      decoder_(layout.type()) {}

std::optional<WeightStore::Impl::Fold> WeightStore::Impl::next_fold() const {
  if (layout_.ring() == 0) return std::nullopt;
  const std::uint64_t active = access_.load(buffer_, StoreWords::active);
  if (active == 0) return std::nullopt;
  Fold fold;
  fold.slot = static_cast<std::int64_t>(active) - 1;
  fold.base_word = access_.load(buffer_, StoreWords::base(fold.slot));
  if (fold.base_word == 0 || fold.base_word == broken_base_) return std::nullopt;
  const std::uint64_t content = access_.load(buffer_, StoreWords::content(fold.slot));
  const auto delta = find_delta(access_, buffer_, layout_.ring(), StoreWords::version(content));
  if (!delta || (may_fold_ && !may_fold_(delta->target))) return std::nullopt;
  fold.entry = delta->entry;
  fold.step = {StoreWords::version(content), delta->target};
  return fold;
}

/// A publisher that wants this slot for a full image waits while `busy` names it. So: say busy,
/// then look whether the slot is still the active one; the publisher first makes the other one
/// active, and looks at `busy` a version later.
bool WeightStore::Impl::fold() {
  const std::optional<Fold> next = next_fold();
  if (!next) {
    fold_.reset();
    return false;
  }
  if (!fold_ || fold_->step.target != next->step.target || fold_->base_word != next->base_word) {
    fold_ = next;
  }
  access_.store(buffer_, StoreWords::busy, static_cast<std::uint64_t>(fold_->slot) + 1);
  if (!still_current() || fold_some()) fold_.reset();
  access_.store(buffer_, StoreWords::busy, 0);
  return true;
}

bool WeightStore::Impl::still_current() const {
  return access_.load(buffer_, StoreWords::active) == static_cast<std::uint64_t>(fold_->slot) + 1 &&
         access_.load(buffer_, StoreWords::base(fold_->slot)) == fold_->base_word;
}

/// True when the delta is in, or was given up.
bool WeightStore::Impl::fold_some() {
  const base::Stopwatch watch;
  access_.sync();
  try {
    const auto regions = layout_.regions_of_buffer(buffer_);
    const std::int64_t frame_bytes = DeltaEncoder::frame_elements * element_bytes(layout_.type());
    for (std::int64_t done = 0; fold_->region < regions.size(); done += frame_bytes) {
      if (done >= turn_bytes) {
        fold_->seconds += watch.seconds();
        return false;
      }
      fold_frame(frames_of(regions[fold_->region]));
    }
  } catch (const CorruptDelta& error) {
    // With a new full image in place nobody keeps the old deltas for us.
    if (still_current()) give_up(error.what());
    return true;
  }
  access_.sync();
  access_.store(buffer_, StoreWords::fold_ns,
                static_cast<std::uint64_t>((fold_->seconds + watch.seconds()) * 1e9));
  access_.store(buffer_, StoreWords::content(fold_->slot), StoreWords::of(fold_->step.target));
  return true;
}

void WeightStore::Impl::fold_frame(std::span<const std::byte> frames) {
  const auto rest = frames.subspan(fold_->offset);
  if (rest.empty()) {
    ++fold_->region;
    fold_->offset = 0;
    return;
  }
  const Range shard = layout_.shard(buffer_);
  const auto slot =
      memory_.subspan(static_cast<std::size_t>(layout_.slot_offset(buffer_, fold_->slot)),
                      static_cast<std::size_t>(shard.size()));
  fold_->offset +=
      decoder_.apply_one(rest, fold_->step, shard.begin / element_bytes(layout_.type()), slot);
}

std::span<const std::byte> WeightStore::Impl::frames_of(const Region& region) const {
  std::uint64_t length = 0;
  std::memcpy(&length,
              memory_.data() + layout_.lengths_offset(buffer_, fold_->entry) +
                  static_cast<std::size_t>(region.index) * 8,
              sizeof length);
  if (length > static_cast<std::uint64_t>(region.capacity)) {
    throw CorruptDelta("a region's frames are longer than their place");
  }
  return memory_.subspan(static_cast<std::size_t>(layout_.frames_offset(region, fold_->entry)),
                         static_cast<std::size_t>(length));
}

/// The slot may have half a delta in it: nobody can use its next versions. Engines that need it
/// fail their digests; the next publish replaces it.
void WeightStore::Impl::give_up(const char* why) {
  base::log_warning("weight store: a delta could not be folded into the full image (" +
                    std::string(why) + "); the next publish will be full");
  broken_base_ = fold_->base_word;
  access_.store(0, StoreWords::wanted, 1);
}

base::WeightVersion WeightStore::Impl::newest() const {
  return StoreWords::version(access_.load(buffer_, StoreWords::newest));
}

base::WeightVersion WeightStore::Impl::folded() const {
  const std::uint64_t active = access_.load(buffer_, StoreWords::active);
  if (active == 0) return {};
  const auto slot = static_cast<std::int64_t>(active) - 1;
  return StoreWords::version(access_.load(buffer_, StoreWords::content(slot)));
}

WeightStore::WeightStore(std::unique_ptr<Impl> impl, std::function<bool()> serve)
    : impl_(std::move(impl)), serve_(std::move(serve)) {}
WeightStore::WeightStore(WeightStore&&) noexcept = default;
WeightStore& WeightStore::operator=(WeightStore&&) noexcept = default;
WeightStore::~WeightStore() = default;
bool WeightStore::advance() {
  const bool served = serve_ && serve_();
  return impl_->fold() || served;
}
base::WeightVersion WeightStore::newest() const { return impl_->newest(); }
base::WeightVersion WeightStore::folded() const { return impl_->folded(); }

}  // namespace physarum::weights
