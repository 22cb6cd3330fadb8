#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>

#include "physarum/base/ids.hpp"

#include "physarum/model/decode_kernels.hpp"

#include "block_pool.hpp"

namespace physarum::rollout {

/// Tokens of one cache block.
using BlockTokens = std::span<const base::TokenId, model::cache_block_tokens>;

/// A full cache block that is found by all tokens up to its end. Whoever holds it reads it; nobody
/// writes it any more.
struct PrefixBlock {
  std::uint64_t serial = 0;  ///< no two blocks ever have the same
  std::uint64_t before = 0;  ///< serial of the block before it in the sequence, or the first's root
  std::array<base::TokenId, model::cache_block_tokens> tokens{};
  float* at = nullptr;
  std::int64_t holders = 0;
  bool findable = true;
  std::list<PrefixBlock*>::iterator place;  ///< among the unheld ones
};

/// Cache blocks of sequences that are there or have been, for sequences that begin with the same
/// tokens (as SGLang's radix cache, in steps of a block). A block is found by the block before it
/// and its own tokens, both compared as they are: so it stands for one whole prefix, whatever the
/// hash function does. Before the first block stands the weight version by which the sequence is
/// known: sequences of different versions have nothing in common.
///
/// Held blocks count as reserved in the pool. Blocks that nobody holds do not: they are lent until
/// the pool needs them, the one longest unheld first.
class PrefixCache {
 public:
  using Hash = std::uint64_t (*)(std::uint64_t before, BlockTokens tokens);

  explicit PrefixCache(BlockPool& pool, Hash hash = &hash_of);

  /// Where a block stands: behind `before`, or (null) at the beginning of sequences of a version.
  struct Place {
    const PrefixBlock* before;
    base::WeightVersion version;
  };

  /// The block of these tokens in this place; null if it is not here.
  [[nodiscard]] PrefixBlock* find(Place place, BlockTokens tokens) const;
  /// One more holder. The first one takes an unreserved block of the pool for it.
  void hold(PrefixBlock& block);
  /// A block that its caller has filled, and holds from now on; the caller's reservation of one
  /// block goes over. The block before it is held by the caller too. Null, and nothing changes, if
  /// there is such a block already.
  [[nodiscard]] PrefixBlock* add(Place place, BlockTokens tokens, float* at);
  /// One holder less. Blocks of one sequence are released last one first: what is given up later
  /// then begins with the ends of sequences, without which the rest is still found.
  void release(PrefixBlock& block);

  /// A block of the pool for which there is a reservation; an unheld one is given up if need be.
  [[nodiscard]] float* take();
  /// No block is found any more, of whatever version.
  void forget();

  /// Blocks that are found and that nobody holds.
  [[nodiscard]] std::int64_t unheld() const { return static_cast<std::int64_t>(unheld_.size()); }

 private:
  struct Key {
    std::uint64_t before;
    std::array<base::TokenId, model::cache_block_tokens> tokens;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    Hash hash;
    std::size_t operator()(const Key& key) const { return hash(key.before, key.tokens); }
  };
  [[nodiscard]] static Key key_of(Place place, BlockTokens tokens);
  [[nodiscard]] static std::uint64_t hash_of(std::uint64_t before, BlockTokens tokens);
  void give_up_oldest();

  BlockPool& pool_;
  std::uint64_t last_serial_ = 0;
  std::unordered_map<Key, std::unique_ptr<PrefixBlock>, KeyHash> found_;
  std::list<PrefixBlock*> unheld_;  ///< the longest unheld first
  /// Held, but not to be found.
  std::unordered_map<const PrefixBlock*, std::unique_ptr<PrefixBlock>> forgotten_;
};

}  // namespace physarum::rollout
