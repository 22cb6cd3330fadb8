#pragma once

#include <array>
#include <cstring>
#include <optional>

#include "block_digests.hpp"
#include "memory_store.hpp"

namespace physarum::weights::test {

/// The carrier on plain memory over a line on which one bit of one transfer flips.
class BadLine final : public StoreAccess {
 public:
  enum class Part { words, digests, lengths, slice, frames };
  static constexpr std::array parts = {Part::words, Part::digests, Part::lengths, Part::slice,
                                       Part::frames};

  BadLine(MemoryAccess& line, const StoreLayout& layout) : line_(line), layout_(layout) {}

  /// The next transfer of such a part arrives with a bit flipped; `draw` says which.
  void flip_next(Part part, std::uint64_t draw) { plan_ = {part, draw}; }
  /// The next full shard arrives with a bit flipped, and with digests that agree to that: what
  /// would happen without them.
  void forge_next(std::uint64_t draw) { forgery_ = draw; }
  /// Flips that happened.
  [[nodiscard]] std::int64_t fired() const { return fired_; }

  void put(std::span<const std::byte> from, int buffer, std::uint64_t offset) override {
    line_.put(from, buffer, offset);
  }
  void get(std::span<std::byte> to, int buffer, std::uint64_t offset) override {
    line_.get(to, buffer, offset);
    if (to.empty()) return;
    const Part part = part_at(buffer, offset);
    if (plan_ && plan_->part == part) {
      flip(to, plan_->draw % (to.size() * 8));
      plan_.reset();
    }
    if (forgery_ && part == Part::digests) forge(to, buffer, offset);
    if (part == Part::slice && forged_at_ >= offset && forged_at_ < offset + to.size()) {
      flip(to, (forged_at_ - offset) * 8);
      forged_at_ = 0;
    }
  }
  void flush(const base::Deadline& deadline) override { line_.flush(deadline); }
  std::uint64_t load(int buffer, std::int64_t word) override { return line_.load(buffer, word); }
  void store(int buffer, std::int64_t word, std::uint64_t value) override {
    line_.store(buffer, word, value);
  }
  void sync() override {}

 private:
  struct Plan {
    Part part;
    std::uint64_t draw;
  };

  void flip(std::span<std::byte> bytes, std::uint64_t bit) {
    bytes[static_cast<std::size_t>(bit / 8)] ^= static_cast<std::byte>(1U << (bit % 8));
    ++fired_;
  }

  [[nodiscard]] Part part_at(int buffer, std::uint64_t offset) const {
    if (offset < layout_.slot_offset(buffer, 0)) return Part::words;
    for (std::int64_t slot = 0; slot < 2; ++slot) {
      if (offset < layout_.slot_digests_offset(buffer, slot)) return Part::slice;
      if (offset < layout_.slot_offset(buffer, slot + 1)) return Part::digests;
    }
    std::int64_t entry = 0;
    while (offset >= layout_.lengths_offset(buffer, entry + 1)) ++entry;
    if (offset < layout_.entry_digests_offset(buffer, entry)) return Part::lengths;
    const auto table = StoreLayout::blocks_of(layout_.shard(buffer)) * StoreLayout::digest_bytes;
    return offset < layout_.entry_digests_offset(buffer, entry) + static_cast<std::uint64_t>(table)
               ? Part::digests
               : Part::frames;
  }

  /// `table` holds the digests of a slot that has just been read from `offset`.
  void forge(std::span<std::byte> table, int buffer, std::uint64_t offset) {
    const std::int64_t slot = offset == layout_.slot_digests_offset(buffer, 0) ? 0 : 1;
    const std::uint64_t start = layout_.slot_offset(buffer, slot);
    const auto bytes = static_cast<std::uint64_t>(layout_.shard(buffer).size());
    std::vector<std::byte> shard(static_cast<std::size_t>(bytes));
    line_.get(shard, buffer, start);
    const std::uint64_t at = *forgery_ % bytes;
    shard[static_cast<std::size_t>(at)] ^= std::byte{1};
    std::vector<base::Digest> digests;
    make_block_digests(shard, digests, team_);
    std::memcpy(table.data(), digests.data(), table.size());
    forged_at_ = start + at;
    forgery_.reset();
  }

  MemoryAccess& line_;
  const StoreLayout& layout_;
  std::optional<Plan> plan_;
  std::optional<std::uint64_t> forgery_;
  std::uint64_t forged_at_ = 0;  // offset in the window; 0: nothing is forged
  std::int64_t fired_ = 0;
  base::ThreadTeam team_{1};
};

}  // namespace physarum::weights::test
