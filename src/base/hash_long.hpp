#pragma once

#include <cstddef>
#include <cstdint>

namespace physarum::base {

/// XXH3 with 128 bits as one processor does it fastest; the value is the same for all.
struct LongHash {
  std::uint64_t low;
  std::uint64_t high;
};
using HashLong = LongHash (*)(const std::byte* bytes, std::size_t size);

/// Null if this build or this processor has no AVX2.
[[nodiscard]] HashLong avx2_hash();

}  // namespace physarum::base
