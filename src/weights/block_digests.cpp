#include "block_digests.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

namespace physarum::weights {
namespace {

constexpr auto block = static_cast<std::size_t>(StoreLayout::block_bytes);

base::Digest digest_of_block(std::span<const std::byte> bytes, std::int64_t index) {
  const std::size_t offset = static_cast<std::size_t>(index) * block;
  return base::digest128(bytes.subspan(offset, std::min(block, bytes.size() - offset)));
}

/// Calls use(index) for every block, each thread for a part of them.
template <class Use>
void for_each_block(std::span<const std::byte> bytes, base::ThreadTeam& team, const Use& use) {
  const auto blocks = static_cast<std::int64_t>((bytes.size() + block - 1) / block);
  team.run([&](int thread) {
    const auto part = base::part_of(blocks, thread, team.size());
    for (std::int64_t i = part.first; i < part.first + part.count; ++i) use(i);
  });
}

}  // namespace

void make_block_digests(std::span<const std::byte> bytes, std::vector<base::Digest>& digests,
                        base::ThreadTeam& team) {
  digests.resize((bytes.size() + block - 1) / block);
  for_each_block(bytes, team, [&](std::int64_t index) {
    digests[static_cast<std::size_t>(index)] = digest_of_block(bytes, index);
  });
}

std::int64_t first_wrong_block(std::span<const std::byte> bytes,
                               std::span<const base::Digest> digests, base::ThreadTeam& team) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first{none};
  for_each_block(bytes, team, [&](std::int64_t index) {
    if (digest_of_block(bytes, index) == digests[static_cast<std::size_t>(index)]) return;
    std::int64_t before = first;
    while (index < before && !first.compare_exchange_weak(before, index)) {
    }
  });
  return first == none ? -1 : first.load();
}

}  // namespace physarum::weights
