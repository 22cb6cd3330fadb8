#pragma once

#include <span>
#include <vector>

#include "physarum/base/hash.hpp"
#include "physarum/base/thread_team.hpp"

#include "store_layout.hpp"

namespace physarum::weights {

static_assert(sizeof(base::Digest) == StoreLayout::digest_bytes);

/// The digests of the blocks of `bytes`, which starts at a block's start, by all threads.
void make_block_digests(std::span<const std::byte> bytes, std::vector<base::Digest>& digests,
                        base::ThreadTeam& team);

/// Index of the first block of `bytes` whose digest differs from digests[0], [1], ...; -1 if none.
[[nodiscard]] std::int64_t first_wrong_block(std::span<const std::byte> bytes,
                                             std::span<const base::Digest> digests,
                                             base::ThreadTeam& team);

}  // namespace physarum::weights
