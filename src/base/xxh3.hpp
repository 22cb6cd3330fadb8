#pragma once

// Compiled once for each target. All of the library is static here, and so is what stands below:
// nothing that is compiled for one target is seen elsewhere.

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "physarum/base/hash.hpp"

namespace physarum::base {

using DigestFunction = Digest (*)(std::span<const std::byte> bytes);

static inline Digest xxh3_digest(std::span<const std::byte> bytes) {
  const XXH128_hash_t value = XXH3_128bits(bytes.data(), bytes.size());
  return {value.low64, value.high64};
}

/// As fast as AVX2 makes it, the same value; null if this build or this processor has none.
[[nodiscard]] DigestFunction avx2_digest();

}  // namespace physarum::base
