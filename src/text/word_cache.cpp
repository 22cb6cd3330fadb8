#include "word_cache.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"
#include "physarum/base/hash.hpp"

namespace physarum::text {

namespace {

constexpr std::size_t slot_count = std::size_t{1} << 16;
constexpr std::size_t store_bytes = std::size_t{1} << 21;
constexpr std::size_t store_ids = std::size_t{1} << 20;

}  // namespace

std::optional<std::span<const base::TokenId>> WordCache::find(std::string_view word) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint64_t hash = base::hash64(word);
  const Slot& slot = slots_[hash % slot_count];
  if (slot.hash != hash || slot.word_bytes != word.size()) return std::nullopt;
  if (std::string_view(words_.data() + slot.word_at, slot.word_bytes) != word) return std::nullopt;
  return std::span(ids_).subspan(slot.ids_at, slot.ids);
}

void WordCache::put(std::string_view word, std::span<const base::TokenId> ids) {
  base::expects(!word.empty() && word.size() <= longest_word && ids.size() <= word.size() + 1,
                "a word of a length that is kept");
  if (slots_.empty()) slots_.resize(slot_count);
  if (words_.size() + word.size() > store_bytes || ids_.size() + ids.size() > store_ids) {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    words_.clear();
    ids_.clear();
  }
  const std::uint64_t hash = base::hash64(word);
  slots_[hash % slot_count] = {
      hash, static_cast<std::uint32_t>(words_.size()), static_cast<std::uint32_t>(ids_.size()),
      static_cast<std::uint16_t>(word.size()), static_cast<std::uint16_t>(ids.size())};
  words_.append(word);
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

}  // namespace physarum::text
