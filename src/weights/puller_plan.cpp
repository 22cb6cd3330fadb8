#include <algorithm>
#include <utility>

#include "physarum/base/error.hpp"

#include "puller_impl.hpp"

// The first half of a pull: what has to be fetched to reach the target.
namespace physarum::weights {

void Puller::Impl::read_words(std::vector<WordsCopy>& words, const base::Deadline& deadline) {
  words.assign(static_cast<std::size_t>(layout_.buffer_ranks()), WordsCopy(layout_.ring()));
  for (int buffer = 0; buffer < layout_.buffer_ranks(); ++buffer) {
    access_.get(words[static_cast<std::size_t>(buffer)].bytes(), buffer, 0);
  }
  access_.flush(deadline);
  for (const WordsCopy& copy : words) {
    if (copy.at(StoreWords::layout) == layout_.hash()) continue;
    throw base::WorldError("read of the weight store", 0,
                           "a buffer rank's window has another layout than this engine expects");
  }
}

/// A get has no order: the word of a slot may be older than that of the entry which is folded into
/// it. Two looks that are equal show the words of one moment, for no place gets a version again.
std::optional<std::vector<WordsCopy>> Puller::Impl::read_words_of_one_moment(
    const base::Deadline& deadline) {
  std::vector<WordsCopy> first;
  std::vector<WordsCopy> second;
  read_words(first, deadline);
  read_words(second, deadline);
  for (std::size_t buffer = 0; buffer < first.size(); ++buffer) {
    if (!first[buffer].same_places(second[buffer])) return std::nullopt;
  }
  return second;
}

void Puller::Impl::plan() {
  // The target before the words: these are then at least as new as it.
  target_ = exactly_ ? *exactly_ : newest();
  if (target_.valid() && image_->version() == target_) return finish(PullResult::Kind::current);
  if (!target_.valid() || (exactly_ && target_ > newest()))
    return finish(PullResult::Kind::unavailable);
  stage_ = Stage::arrive;
}

void Puller::Impl::arrive(std::int64_t& budget, const base::Deadline& deadline) {
  if (!access_.arrived(target_)) {
    budget = 0;  // of this slice: what is on its way needs others
    if (!parallel::serve_hooks()) backoff_.pause();
    return;
  }
  read_words(words_, deadline);
  if (plan_shards()) {
    stage_ = Stage::head;
  } else if (exactly_) {
    finish(PullResult::Kind::unavailable);
  } else {
    lost_race();
  }
}

bool Puller::Impl::plan_shards() {
  plans_.clear();
  for (const WordsCopy& words : words_) {
    const auto plan = plan_shard(words);
    if (!plan) return false;
    plans_.push_back(*plan);
  }
  return true;
}

/// False if the digests of the target are not there (any more).
bool Puller::Impl::find_digests(const WordsCopy& words, ShardPlan& plan) const {
  plan.digests_slot = -1;
  if (const auto entry = words.delta_to(target_)) {
    plan.digests_entry = *entry;
    return true;
  }
  for (std::int64_t slot = 0; slot < 2; ++slot) {
    if (words.at(StoreWords::base(slot)) == StoreWords::of(target_)) plan.digests_slot = slot;
  }
  return plan.digests_slot >= 0;
}

/// The slot holds a state from which the ring's deltas lead to the target. Elements may be newer
/// than `content` says, by a fold that is under way or that a full image interrupted.
bool Puller::Impl::slot_usable(const WordsCopy& words, std::int64_t slot) const {
  const std::uint64_t content = words.at(StoreWords::content(slot));
  if (words.at(StoreWords::base(slot)) == 0 || content == 0) return false;
  const base::WeightVersion held = StoreWords::version(content);
  if (held > target_ || !words.chain(held, target_)) return false;
  if (layout_.ring() == 0) return true;
  if (words.at(StoreWords::active) == static_cast<std::uint64_t>(slot) + 1) {
    return !exactly_ || !words.delta_from(target_);
  }
  return words.is_clean(slot);
}

/// Nothing if this buffer rank cannot lead to the target (any more).
std::optional<ShardPlan> Puller::Impl::plan_shard(const WordsCopy& words) const {
  ShardPlan plan;
  if (!find_digests(words, plan)) return std::nullopt;
  const base::WeightVersion mine = image_->version();
  if (!full_only_ && mine.valid() && mine < target_) {
    if (const auto chain = words.chain(mine, target_)) {
      plan.from = mine;
      plan.chain = *chain;
      return plan;
    }
  }
  for (std::int64_t slot = 0; slot < 2; ++slot) {
    const base::WeightVersion held = StoreWords::version(words.at(StoreWords::content(slot)));
    if (!slot_usable(words, slot) || held <= plan.from) continue;
    plan.from = held;
    plan.slot = slot;
  }
  if (plan.slot < 0) return std::nullopt;
  plan.chain = *words.chain(plan.from, target_);
  return plan;
}

/// No place that we read was reused meanwhile.
bool Puller::Impl::still_there(const WordsCopy& now, int buffer) const {
  const ShardPlan& plan = plan_of(buffer);
  const WordsCopy& before = words_[static_cast<std::size_t>(buffer)];
  for (const std::int64_t slot : {plan.slot, plan.digests_slot}) {
    if (slot < 0) continue;
    if (now.at(StoreWords::base(slot)) != before.at(StoreWords::base(slot))) return false;
  }
  if (plan.slot >= 0 && now.at(StoreWords::active) != static_cast<std::uint64_t>(plan.slot) + 1 &&
      !now.is_clean(plan.slot)) {
    return false;
  }
  if (plan.digests_slot < 0 && now.delta_to(target_) != plan.digests_entry) return false;
  return now.chain(plan.from, target_) == plan.chain;
}

/// A fold may have brought elements of a version after the target into the slot that we read.
bool Puller::Impl::overtaken(const WordsCopy& now, int buffer) const {
  const ShardPlan& plan = plan_of(buffer);
  if (plan.slot < 0) return false;
  return StoreWords::version(now.at(StoreWords::content(plan.slot))) > target_ ||
         now.delta_from(target_).has_value();
}

/// The full shards that we have are a mixture of versions, but of none before plan.from, and deltas
/// hold absolute values: applying all that the ring has after plan.from gives the newest version.
/// So only deltas and digests are read again.
void Puller::Impl::follow(base::WeightVersion ahead, std::vector<WordsCopy> now) {
  if (exactly_) return lost_race();
  // The version that is being folded becomes visible in a moment: look again.
  if (ahead <= target_) return count_retry();
  target_ = ahead;
  words_ = std::move(now);
  for (int buffer = 0; buffer < layout_.buffer_ranks(); ++buffer) {
    const WordsCopy& words = words_[static_cast<std::size_t>(buffer)];
    ShardPlan& plan = plans_[static_cast<std::size_t>(buffer)];
    const auto chain = words.chain(plan.from, target_);
    if (!chain || !find_digests(words, plan)) return lost_race();
    plan.chain = *chain;
    plan.slot_taken = plan.slot >= 0;
  }
  stage_ = Stage::head;
  count_retry();
}

/// Length words and digests.
void Puller::Impl::read_heads(const base::Deadline& deadline) {
  digests_.assign(static_cast<std::size_t>(layout_.blocks()), {});
  std::vector<std::vector<std::uint64_t>> lengths;
  for (int buffer = 0; buffer < layout_.buffer_ranks(); ++buffer) {
    const ShardPlan& plan = plan_of(buffer);
    const Range shard = layout_.shard(buffer);
    const std::int64_t first = shard.begin / StoreLayout::block_bytes;
    const auto table = slice(std::span(digests_), {first, first + StoreLayout::blocks_of(shard)});
    access_.get(std::as_writable_bytes(table), buffer,
                plan.digests_slot >= 0 ? layout_.slot_digests_offset(buffer, plan.digests_slot)
                                       : layout_.entry_digests_offset(buffer, plan.digests_entry));
    result_.wire_bytes += static_cast<std::int64_t>(table.size_bytes());
    for (std::size_t i = 0; i < plan.chain.size(); ++i) {
      lengths.emplace_back(layout_.regions_of_buffer(buffer).size());
    }
  }
  std::size_t at = 0;
  for (int buffer = 0; buffer < layout_.buffer_ranks(); ++buffer) {
    for (const DeltaPlace& delta : plan_of(buffer).chain) {
      const auto words = std::as_writable_bytes(std::span(lengths[at++]));
      access_.get(words, buffer, layout_.lengths_offset(buffer, delta.entry));
      result_.wire_bytes += static_cast<std::int64_t>(words.size());
    }
  }
  access_.flush(deadline);
  queue_pieces(lengths);
}

}  // namespace physarum::weights
