#include "seen_tokens.hpp"

namespace physarum::rollout {

namespace {
constexpr std::int32_t free_slot = -1;
constexpr std::size_t least_slots = 64;

/// Fibonacci hashing: ids that follow each other are spread.
std::size_t hash_of(base::TokenId token) {
  return (static_cast<std::uint32_t>(token) * std::uint64_t{0x9E3779B97F4A7C15}) >> 32;
}
}  // namespace

SeenTokens::SeenTokens(std::span<const base::TokenId> prompt) : slots_(least_slots, free_slot) {
  for (const auto token : prompt) (void)entry_of(token);
}

void SeenTokens::push(base::TokenId token) { ++entry_of(token).count; }

std::size_t SeenTokens::slot_of(base::TokenId token) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(token) & mask;
  while (slots_[slot] != free_slot &&
         entries_[static_cast<std::size_t>(slots_[slot])].token != token) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

SeenTokens::Entry& SeenTokens::entry_of(base::TokenId token) {
  std::size_t slot = slot_of(token);
  if (slots_[slot] == free_slot) {
    // At most half full, so that a search is short and always ends.
    if (2 * (entries_.size() + 1) > slots_.size()) {
      rebuild(2 * slots_.size());
      slot = slot_of(token);
    }
    slots_[slot] = static_cast<std::int32_t>(entries_.size());
    entries_.push_back({token, 0});
  }
  return entries_[static_cast<std::size_t>(slots_[slot])];
}

void SeenTokens::rebuild(std::size_t slots) {
  slots_.assign(slots, free_slot);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    slots_[slot_of(entries_[i].token)] = static_cast<std::int32_t>(i);
  }
}

bool has_penalties(const sample::SamplingOptions& options) {
  return options.repetition_penalty != 1 || options.presence_penalty != 0 ||
         options.frequency_penalty != 0;
}

void penalise(const SeenTokens& seen, const sample::SamplingOptions& options, float* logits) {
  for (const auto& entry : seen.entries()) {
    float& place = logits[entry.token];
    double logit = static_cast<double>(place);
    logit = logit > 0 ? logit / options.repetition_penalty : logit * options.repetition_penalty;
    if (entry.count > 0) {
      logit -= options.frequency_penalty * entry.count + options.presence_penalty;
    }
    place = static_cast<float>(logit);
  }
}

}  // namespace physarum::rollout
