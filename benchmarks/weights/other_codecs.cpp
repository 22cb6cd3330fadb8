#include "other_codecs.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <zstd.h>

OtherSizes other_sizes(std::span<const std::uint16_t> before,
                       std::span<const std::uint16_t> after) {
  constexpr std::size_t piece = 1 << 20;
  OtherSizes sizes;
  sizes.bitmask = after.size() / 8;
  std::vector<std::uint16_t> difference(piece);
  std::vector<std::byte> compressed(ZSTD_compressBound(piece * 2));
  for (std::size_t at = 0; at < after.size(); at += piece) {
    const std::size_t count = std::min(piece, after.size() - at);
    for (std::size_t i = 0; i < count; ++i) {
      difference[i] = static_cast<std::uint16_t>(before[at + i] ^ after[at + i]);
      if (difference[i] == 0) continue;
      sizes.position_and_value += 6;
      sizes.bitmask += 2;
    }
    const std::size_t length =
        ZSTD_compress(compressed.data(), compressed.size(), difference.data(), count * 2, 1);
    if (ZSTD_isError(length) != 0U) std::abort();
    sizes.xor_zstd += length;
  }
  return sizes;
}
