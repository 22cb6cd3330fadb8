#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/ids.hpp"

namespace physarum::text {

/// Which pairs of tokens join, in which order of preference, to what.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank;  ///< lower joins first
    base::TokenId joined;
  };

  MergeTable() : MergeTable(0) {}
  /// `expected`: how many merges will be added.
  explicit MergeTable(std::size_t expected);

  /// A pair that is added twice keeps its last meaning.
  void add(base::TokenId left, base::TokenId right, Merge merge);
  /// Null if the pair does not join. Lives until the next add().
  [[nodiscard]] const Merge* find(base::TokenId left, base::TokenId right) const;

 private:
  struct Slot {
    std::uint64_t key;
    Merge merge;
  };
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const;
  std::vector<Slot> slots_;  ///< open addressing, at most half full
  std::size_t used_ = 0;
};

/// The memory of a merge run. One thread at a time.
struct MergeScratch {
  struct Symbol {
    base::TokenId id;  ///< −1: joined to the one before
    std::int32_t previous;
    std::int32_t next;
  };
  struct Candidate {
    std::uint32_t rank;
    std::int32_t position;
    base::TokenId joined;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
};

/// Joins tokens until no pair joins: always the pair of lowest rank, of those the leftmost. Appends
/// the result to `out`. Time n log n in the number of tokens.
void merge_tokens(const MergeTable& table, std::span<const base::TokenId> tokens,
                  MergeScratch& scratch, std::vector<base::TokenId>& out);

}  // namespace physarum::text
