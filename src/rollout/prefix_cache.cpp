#include "prefix_cache.hpp"

#include <algorithm>
#include <utility>

#include "physarum/base/contracts.hpp"

namespace physarum::rollout {

PrefixCache::PrefixCache(BlockPool& pool, Hash hash) : pool_(pool), found_(0, KeyHash{hash}) {}

PrefixCache::Key PrefixCache::key_of(Place place, BlockTokens tokens) {
  // Serials count from one, so no root is ever one of them.
  constexpr std::uint64_t root = std::uint64_t{1} << 63;
  Key key{place.before == nullptr ? root | static_cast<std::uint64_t>(place.version.value())
                                  : place.before->serial,
          {}};
  std::ranges::copy(tokens, key.tokens.begin());
  return key;
}

/// Multiply and mix, by the constants of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
std::uint64_t PrefixCache::hash_of(std::uint64_t before, BlockTokens tokens) {
  std::uint64_t hash = before;
  for (const auto token : tokens) {
    hash = (hash ^ static_cast<std::uint64_t>(token)) + 0x9E3779B97F4A7C15U;
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9U;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBU;
  }
  return hash ^ (hash >> 31);
}

PrefixBlock* PrefixCache::find(Place place, BlockTokens tokens) const {
  if (place.before != nullptr && !place.before->findable) return nullptr;
  const auto found = found_.find(key_of(place, tokens));
  return found == found_.end() ? nullptr : found->second.get();
}

void PrefixCache::hold(PrefixBlock& block) {
  if (block.holders++ > 0) return;
  pool_.reserve(1);
  unheld_.erase(block.place);
}

PrefixBlock* PrefixCache::add(Place place, BlockTokens tokens, float* at) {
  base::expects(place.before == nullptr || (place.before->findable && place.before->holders > 0),
                "a block goes behind one that its sequence holds");
  const auto [entry, is_new] = found_.try_emplace(key_of(place, tokens));
  if (!is_new) return nullptr;
  entry->second = std::make_unique<PrefixBlock>();
  auto& block = *entry->second;
  block.serial = ++last_serial_;
  block.before = entry->first.before;
  block.tokens = entry->first.tokens;
  block.at = at;
  block.holders = 1;
  return &block;
}

void PrefixCache::release(PrefixBlock& block) {
  base::expects(block.holders > 0, "a block is released as often as it was held");
  if (--block.holders > 0) return;
  pool_.release(1);
  if (block.findable) {
    block.place = unheld_.insert(unheld_.end(), &block);
    return;
  }
  pool_.give_back(block.at);
  forgotten_.erase(&block);
}

float* PrefixCache::take() {
  if (pool_.is_used_up()) give_up_oldest();
  return pool_.take();
}

void PrefixCache::give_up_oldest() {
  base::expects(!unheld_.empty(), "a cache block was taken without a reservation");
  const auto* block = unheld_.front();
  unheld_.pop_front();
  pool_.give_back(block->at);
  found_.erase(Key{block->before, block->tokens});
}

void PrefixCache::forget() {
  for (auto& [key, block] : found_) {
    if (block->holders == 0) {
      pool_.give_back(block->at);
      continue;
    }
    block->findable = false;
    const auto* address = block.get();
    forgotten_.emplace(address, std::move(block));
  }
  found_.clear();
  unheld_.clear();
}

}  // namespace physarum::rollout
