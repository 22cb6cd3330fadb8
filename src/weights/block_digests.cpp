#include "block_digests.hpp"

#include <algorithm>

namespace physarum::weights {
namespace {
constexpr auto block = static_cast<std::size_t>(StoreLayout::block_bytes);
}

void append_block_digests(std::span<const std::byte> bytes, std::vector<base::Digest>& digests) {
  for (std::size_t offset = 0; offset < bytes.size(); offset += block) {
    digests.push_back(
        base::digest128(bytes.subspan(offset, std::min(block, bytes.size() - offset))));
  }
}

std::int64_t first_wrong_block(std::span<const std::byte> bytes,
                               std::span<const base::Digest> digests) {
  std::int64_t index = 0;
  for (std::size_t offset = 0; offset < bytes.size(); offset += block, ++index) {
    const auto part = bytes.subspan(offset, std::min(block, bytes.size() - offset));
    if (base::digest128(part) != digests[static_cast<std::size_t>(index)]) return index;
  }
  return -1;
}

}  // namespace physarum::weights
