#include "replica.hpp"

#include <cstring>

#include "physarum/base/contracts.hpp"

#include "store_words.hpp"

namespace physarum::weights {

Replica::Replica(const StoreLayout& layout, StoreAccess& control)
    : layout_(layout), control_(control) {
  for (int buffer = 0; buffer < layout.buffer_ranks(); ++buffer) {
    windows_.emplace_back(layout.window_bytes(buffer), AlignedBytes::Fill::nothing);
    WeightStore::Impl::initialise(layout, buffer, windows_.back().span());
    folders_.push_back(
        std::make_unique<WeightStore::Impl>(layout, buffer, windows_.back().span(), *this));
  }
}

std::span<std::byte> Replica::window(int buffer, std::uint64_t offset, std::size_t bytes) {
  const auto all = windows_.at(static_cast<std::size_t>(buffer)).span();
  base::expects(offset <= all.size() && bytes <= all.size() - offset, "the place is in the window");
  return all.subspan(static_cast<std::size_t>(offset), bytes);
}

std::uint64_t Replica::word(int buffer, std::int64_t word) {
  std::uint64_t value = 0;
  std::memcpy(&value, window(buffer, StoreWords::offset(word), sizeof value).data(), sizeof value);
  return value;
}

void Replica::set_word(int buffer, std::int64_t word, std::uint64_t value) {
  std::memcpy(window(buffer, StoreWords::offset(word), sizeof value).data(), &value, sizeof value);
}

std::span<std::byte> Replica::place(int buffer, const VersionPart& part, std::size_t bytes) {
  base::invariant(part.version >= 0 && part.offset >= layout_.slot_offset(buffer, 0) &&
                      (part.slot >= 0 ? part.slot < 2 && part.entry < 0
                                      : part.entry >= 0 && part.entry < layout_.ring()),
                  "a part belongs to a slot or to a ring entry");
  if (part.part == 0 && part.slot >= 0) {
    set_word(buffer, StoreWords::base(part.slot), 0);
    set_word(buffer, StoreWords::content(part.slot), 0);
  } else if (part.part == 0) {
    // A delta whose place is needed must be in the full image: buffer ranks fold what they have
    // sent, so it is here, but this rank may have had no time yet.
    while (folders_[static_cast<std::size_t>(buffer)]->fold()) {
    }
    set_word(buffer, StoreWords::entry(part.entry), 0);
  }
  return window(buffer, part.offset, bytes);
}

void Replica::complete(int buffer, const VersionPart& part) {
  if (part.part + 1 < part.parts) return;
  const std::uint64_t value = StoreWords::of(base::WeightVersion(part.version));
  const std::uint64_t before = StoreWords::of(base::WeightVersion(part.before));
  if (part.slot >= 0) {
    set_word(buffer, StoreWords::before(part.slot), before);
    set_word(buffer, StoreWords::content(part.slot), value);
    set_word(buffer, StoreWords::base(part.slot), value);
    set_word(buffer, StoreWords::active, static_cast<std::uint64_t>(part.slot) + 1);
  } else {
    set_word(buffer, StoreWords::entry_base(part.entry), before);
    set_word(buffer, StoreWords::entry(part.entry), value);
  }
  set_word(buffer, StoreWords::newest, value);
}

bool Replica::fold() {
  bool any = false;
  for (const auto& folder : folders_) any = folder->fold() || any;
  return any;
}

void Replica::put(std::span<const std::byte> from, int buffer, std::uint64_t offset) {
  const auto to = window(buffer, offset, from.size());
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

void Replica::get(std::span<std::byte> to, int buffer, std::uint64_t offset) {
  const auto from = window(buffer, offset, to.size());
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
}

void Replica::flush(const base::Deadline&) {}

std::uint64_t Replica::load(int buffer, std::int64_t index) {
  return index == StoreWords::newest ? control_.load(buffer, index) : word(buffer, index);
}

void Replica::store(int buffer, std::int64_t index, std::uint64_t value) {
  index == StoreWords::wanted ? control_.store(buffer, index, value)
                              : set_word(buffer, index, value);
}

bool Replica::arrived(base::WeightVersion version) {
  for (int buffer = 0; buffer < layout_.buffer_ranks(); ++buffer) {
    if (StoreWords::version(word(buffer, StoreWords::newest)) < version) return false;
  }
  return true;
}

}  // namespace physarum::weights
