#include "block_digests.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "keyed_sums.hpp"

namespace physarum::weights {
namespace {

constexpr auto block = static_cast<std::size_t>(StoreLayout::block_bytes);

std::size_t blocks_in(std::size_t bytes) { return (bytes + block - 1) / block; }

/// Bytes of a block from `offset` in it on. What is less than a word counts as filled with zeros.
void add_to_block(std::span<const std::byte> bytes, std::size_t offset, base::Digest& digest) {
  const std::uint32_t* const keys = sum_keys() + offset / 4;
  const std::size_t words = bytes.size() / 4;
  add_words()(bytes.data(), words, keys, digest);
  if (bytes.size() % 4 == 0) return;
  std::byte last[4] = {};
  std::memcpy(last, bytes.data() + 4 * words, bytes.size() % 4);
  add_single_words(last, 1, keys + words, digest);
}

std::span<const std::byte> block_at(std::span<const std::byte> bytes, std::int64_t index) {
  const std::size_t offset = static_cast<std::size_t>(index) * block;
  return bytes.subspan(offset, std::min(block, bytes.size() - offset));
}

/// Calls use(index) for so many indices, each thread for a part of them.
template <class Use>
void for_each_block(std::size_t blocks, base::ThreadTeam& team, const Use& use) {
  team.run([&](int thread) {
    const auto part = base::part_of(static_cast<std::int64_t>(blocks), thread, team.size());
    for (std::int64_t i = part.first; i < part.first + part.count; ++i) use(i);
  });
}

}  // namespace

base::Digest digest_of_block(std::span<const std::byte> bytes) {
  base::Digest digest = empty_sums(bytes.size());
  add_to_block(bytes, 0, digest);
  return digest;
}

void make_block_digests(std::span<const std::byte> bytes, std::vector<base::Digest>& digests,
                        base::ThreadTeam& team) {
  digests.resize(blocks_in(bytes.size()));
  for_each_block(digests.size(), team, [&](std::int64_t index) {
    digests[static_cast<std::size_t>(index)] = digest_of_block(block_at(bytes, index));
  });
}

std::vector<base::Digest> digests_of_zeros(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  std::vector<base::Digest> digests(blocks_in(size), empty_sums(block));
  if (size % block != 0) digests.back() = empty_sums(size % block);
  return digests;
}

void add_to_digests(std::span<const std::byte> piece, std::int64_t offset,
                    std::span<base::Digest> digests, base::ThreadTeam& team) {
  const auto begin = static_cast<std::size_t>(offset);
  const std::size_t end = begin + piece.size();
  const std::size_t first = begin / block;
  for_each_block(blocks_in(end) - first, team, [&](std::int64_t index) {
    const std::size_t at = first + static_cast<std::size_t>(index);
    const std::size_t from = std::max(begin, at * block);
    const std::size_t to = std::min(end, (at + 1) * block);
    add_to_block(piece.subspan(from - begin, to - from), from % block, digests[at]);
  });
}

std::int64_t first_wrong_block(std::span<const std::byte> bytes,
                               std::span<const base::Digest> digests, base::ThreadTeam& team) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first{none};
  for_each_block(blocks_in(bytes.size()), team, [&](std::int64_t index) {
    if (digest_of_block(block_at(bytes, index)) == digests[static_cast<std::size_t>(index)]) return;
    std::int64_t before = first;
    while (index < before && !first.compare_exchange_weak(before, index)) {
    }
  });
  return first == none ? -1 : first.load();
}

}  // namespace physarum::weights
