#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/base/hash.hpp"
#include "physarum/base/thread_team.hpp"

#include "store_layout.hpp"

// The digests of an image's blocks (keyed_sums.hpp says what they are), by all threads of a team.
namespace physarum::weights {

static_assert(sizeof(base::Digest) == StoreLayout::digest_bytes);

/// Of one block, or of the last one, which may be short.
[[nodiscard]] base::Digest digest_of_block(std::span<const std::byte> block);

/// The digests of the blocks of `bytes`, which starts at a block's start.
void make_block_digests(std::span<const std::byte> bytes, std::vector<base::Digest>& digests,
                        base::ThreadTeam& team);

/// The same in pieces: the digests of `bytes` zeros, and then what each piece adds, once. `offset`
/// is the piece's place in the range whose first block digests[0] belongs to, a multiple of 4.
[[nodiscard]] std::vector<base::Digest> digests_of_zeros(std::int64_t bytes);
void add_to_digests(std::span<const std::byte> piece, std::int64_t offset,
                    std::span<base::Digest> digests, base::ThreadTeam& team);

/// Index of the first block of `bytes` whose digest differs from digests[0], [1], ...; -1 if none.
[[nodiscard]] std::int64_t first_wrong_block(std::span<const std::byte> bytes,
                                             std::span<const base::Digest> digests,
                                             base::ThreadTeam& team);

}  // namespace physarum::weights
