#include "merges.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "physarum/base/contracts.hpp"
#include "physarum/base/narrow.hpp"

namespace physarum::text {

namespace {

constexpr std::uint64_t empty_key = ~std::uint64_t{0};

std::uint64_t pair_key(base::TokenId left, base::TokenId right) {
  return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) |
         static_cast<std::uint32_t>(right);
}

/// The finaliser of MurmurHash3: ids in a row spread over the table.
std::uint64_t mix(std::uint64_t key) {
  key = (key ^ (key >> 33)) * 0xFF51AFD7ED558CCDU;
  key = (key ^ (key >> 33)) * 0xC4CEB9FE1A85EC53U;
  return key ^ (key >> 33);
}

/// For short words, which nearly all are: the ranks of all pairs side by side, looked through for
/// each join. Quadratic, but without the heap's bookkeeping.
class ShortMerger {
 public:
  static constexpr std::size_t longest = 32;

  ShortMerger(const MergeTable& table, std::span<const base::TokenId> tokens)
      : table_(table), count_(tokens.size()) {
    std::copy(tokens.begin(), tokens.end(), ids_.begin());
    for (std::size_t i = 0; i + 1 < count_; ++i) offer(i);
  }

  void run(std::vector<base::TokenId>& out) {
    while (count_ > 1) {
      const auto end = ranks_.begin() + static_cast<std::ptrdiff_t>(count_ - 1);
      const auto best = std::min_element(ranks_.begin(), end);
      if (*best == none) break;
      join(static_cast<std::size_t>(best - ranks_.begin()));
    }
    out.insert(out.end(), ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(count_));
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  void offer(std::size_t i) {
    const auto* merge = table_.find(ids_[i], ids_[i + 1]);
    ranks_[i] = merge == nullptr ? none : merge->rank;
    joined_[i] = merge == nullptr ? -1 : merge->joined;
  }

  void join(std::size_t at) {
    ids_[at] = joined_[at];
    --count_;
    for (std::size_t i = at + 1; i < count_; ++i) {
      ids_[i] = ids_[i + 1];
      ranks_[i] = ranks_[i + 1];
      joined_[i] = joined_[i + 1];
    }
    if (at > 0) offer(at - 1);
    if (at + 1 < count_) offer(at);
  }

  const MergeTable& table_;
  std::size_t count_;
  // One more than needed, so that closing a gap may read behind the last.
  std::array<base::TokenId, longest + 1> ids_{};
  std::array<std::uint32_t, longest + 1> ranks_{};   ///< of the pair that begins here
  std::array<base::TokenId, longest + 1> joined_{};  ///< and what it makes
};

/// For long words: a heap of the pairs that join, n log n.
class HeapMerger {
 public:
  HeapMerger(const MergeTable& table, MergeScratch& scratch)
      : table_(table), symbols_(scratch.symbols), heap_(scratch.heap) {}

  void run(std::span<const base::TokenId> tokens) {
    const auto count = base::narrow<std::int32_t>(tokens.size());
    symbols_.resize(tokens.size());
    heap_.clear();
    for (std::int32_t i = 0; i < count; ++i) {
      at(i) = {tokens[static_cast<std::size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1};
    }
    for (std::int32_t i = 0; i + 1 < count; ++i) offer(i);
    while (!heap_.empty()) join_best();
  }

 private:
  using Candidate = MergeScratch::Candidate;

  /// Heaps of the library keep the greatest in front.
  static bool is_worse(const Candidate& a, const Candidate& b) {
    return std::tie(a.rank, a.position) > std::tie(b.rank, b.position);
  }

  MergeScratch::Symbol& at(std::int32_t i) { return symbols_[static_cast<std::size_t>(i)]; }

  /// The pair that begins at `position`, if it joins.
  void offer(std::int32_t position) {
    if (position < 0 || at(position).next < 0) return;
    const auto* merge = table_.find(at(position).id, at(at(position).next).id);
    if (merge == nullptr) return;
    heap_.push_back({merge->rank, position, merge->joined});
    std::push_heap(heap_.begin(), heap_.end(), is_worse);
  }

  void join_best() {
    std::pop_heap(heap_.begin(), heap_.end(), is_worse);
    const Candidate best = heap_.back();
    heap_.pop_back();
    auto& left = at(best.position);
    if (left.id < 0 || left.next < 0) return;
    auto& right = at(left.next);
    // Earlier joins may have changed the pair since it was offered.
    const auto* merge = table_.find(left.id, right.id);
    if (merge == nullptr || merge->joined != best.joined) return;
    left.id = best.joined;
    left.next = right.next;
    if (right.next >= 0) at(right.next).previous = best.position;
    right.id = -1;
    offer(left.previous);
    offer(best.position);
  }

  const MergeTable& table_;
  std::vector<MergeScratch::Symbol>& symbols_;
  std::vector<Candidate>& heap_;
};

}  // namespace

MergeTable::MergeTable(std::size_t expected)
    : slots_(std::bit_ceil(2 * expected + 2), Slot{empty_key, {}}) {}

std::size_t MergeTable::slot_of(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = mix(key) & mask;
  while (slots_[slot].key != key && slots_[slot].key != empty_key) slot = (slot + 1) & mask;
  return slot;
}

void MergeTable::add(base::TokenId left, base::TokenId right, Merge merge) {
  const std::uint64_t key = pair_key(left, right);
  Slot& slot = slots_[slot_of(key)];
  if (slot.key == empty_key) ++used_;
  base::expects(used_ * 2 <= slots_.size(), "more merges than expected");
  slot = {key, merge};
}

const MergeTable::Merge* MergeTable::find(base::TokenId left, base::TokenId right) const {
  const std::uint64_t key = pair_key(left, right);
  const Slot& slot = slots_[slot_of(key)];
  return slot.key == key ? &slot.merge : nullptr;
}

void merge_tokens(const MergeTable& table, std::span<const base::TokenId> tokens,
                  MergeScratch& scratch, std::vector<base::TokenId>& out) {
  if (tokens.size() <= ShortMerger::longest) return ShortMerger(table, tokens).run(out);
  HeapMerger(table, scratch).run(tokens);
  for (const auto& symbol : scratch.symbols) {
    if (symbol.id >= 0) out.push_back(symbol.id);
  }
}

}  // namespace physarum::text
