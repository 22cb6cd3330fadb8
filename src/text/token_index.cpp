#include "token_index.hpp"

#include <bit>

#include "physarum/base/contracts.hpp"
#include "physarum/base/hash.hpp"

namespace physarum::text {

namespace {

std::uint32_t hash_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(base::hash64(bytes));
}

}  // namespace

TokenIndex::TokenIndex(std::size_t expected)
    : slots_(std::bit_ceil(2 * expected + 2), Slot{0, -1}) {}

std::size_t TokenIndex::slot_of(const std::vector<std::string>& tokens, std::uint32_t hash,
                                std::string_view bytes) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot].id >= 0 && (slots_[slot].hash != hash ||
                                  tokens[static_cast<std::size_t>(slots_[slot].id)] != bytes)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void TokenIndex::add(const std::vector<std::string>& tokens, base::TokenId id) {
  const std::string& bytes = tokens[static_cast<std::size_t>(id)];
  const std::uint32_t hash = hash_of(bytes);
  Slot& slot = slots_[slot_of(tokens, hash, bytes)];
  if (slot.id >= 0) return;
  ++used_;
  base::expects(used_ * 2 <= slots_.size(), "more tokens than expected");
  slot = {hash, id};
}

std::optional<base::TokenId> TokenIndex::find(const std::vector<std::string>& tokens,
                                              std::string_view bytes) const {
  const Slot& slot = slots_[slot_of(tokens, hash_of(bytes), bytes)];
  return slot.id < 0 ? std::nullopt : std::optional(slot.id);
}

}  // namespace physarum::text
