#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "physarum/base/hash.hpp"

#include "store_layout.hpp"

// The digest of a block: two sums, modulo 2^64, over its 32-bit words, each word times the key of
// its place; the second sum has the keys of the places key_shift further on. For any two different
// blocks of one length, at most one key in 2^32 gives them the same first sum, and whatever the
// keys before it, one in 2^32 the same second one (the last word that differs meets a key that the
// first sum does not have there): 2^-64 together. Sums of products as universal hashes: Carter and
// Wegman 1979; Halevi and Krawczyk, "MMH", FSE 1997. Keys that are used again, shifted: Black et
// al., "UMAC", CRYPTO 1999. The keys are known, so the digest guards against accidents, not against
// somebody who wants to deceive.
//
// Being sums, digests can be made from pieces in any order, and change with a word by the
// difference times its key, whatever else the block holds.
namespace physarum::weights {

inline constexpr std::size_t block_words = static_cast<std::size_t>(StoreLayout::block_bytes) / 4;
/// A cache line of keys: the second sum's keys are those that the first one needs next.
inline constexpr std::size_t key_shift = 16;

/// block_words + key_shift of them, at the start of a cache line. From Philox, key "PHYSARUM".
[[nodiscard]] const std::uint32_t* sum_keys();

/// The digest of a block of so many bytes, all zero: where sums begin.
[[nodiscard]] constexpr base::Digest empty_sums(std::size_t bytes) {
  const std::uint64_t length = bytes + 1;
  return {length * 0x9e3779b97f4a7c15U, length * 0xc2b2ae3d27d4eb4fU};
}

/// Adds whole words of a block; `keys` are those of the first one's place.
using AddWords = void (*)(const std::byte* bytes, std::size_t words, const std::uint32_t* keys,
                          base::Digest& sums);
/// The fastest one that this processor can run. All give the same bits.
[[nodiscard]] AddWords add_words();
/// The single ones; nullptr if this processor cannot run it.
[[nodiscard]] AddWords add_words_baseline();
[[nodiscard]] AddWords add_words_avx2();
[[nodiscard]] AddWords add_words_avx512();

/// Changes the digests of a range of blocks as its elements change.
template <class Element>
class ChangedSums {
 public:
  /// `digests` are of the blocks of a range; positions count its elements from `first` on.
  ChangedSums(std::span<base::Digest> digests, std::size_t first)
      : digests_(digests.data()), first_(first), keys_(sum_keys()) {}
  void operator()(std::size_t position, Element was, Element is) const {
    constexpr std::size_t elements = block_words * 4 / sizeof(Element);
    const std::size_t element = first_ + position;
    const std::size_t byte = element % elements * sizeof(Element);
    const std::uint64_t change = (std::uint64_t{is} - std::uint64_t{was}) << (8 * (byte % 4));
    const std::uint32_t* const key = keys_ + byte / 4;
    base::Digest& digest = digests_[element / elements];
    digest.low += change * key[0];
    digest.high += change * key[key_shift];
  }

 private:
  base::Digest* digests_;
  std::size_t first_;
  const std::uint32_t* keys_;
};

/// Where nobody keeps digests.
struct NoSums {
  template <class Element>
  void operator()(std::size_t, Element, Element) const {}
};

/// How far ahead of the sums memory is asked for; asking for what is not there does no harm.
inline constexpr std::size_t sums_ahead = 4096;

// What follows is compiled once for each target, and static, so that nothing that is compiled for
// one is called from another.

static inline void add_single_words(const std::byte* bytes, std::size_t words,
                                    const std::uint32_t* keys, base::Digest& sums) {
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t word;
    std::memcpy(&word, bytes + 4 * i, 4);
    sums.low += std::uint64_t{word} * keys[i];
    sums.high += std::uint64_t{word} * keys[i + key_shift];
  }
}

}  // namespace physarum::weights
