#include "hash_long.hpp"

// All of the library is static here: nothing that is compiled for this target is seen elsewhere.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace physarum::base {

#if XXH_VECTOR == XXH_AVX2
HashLong avx2_hash() {
  constexpr HashLong hash = [](const std::byte* bytes, std::size_t size) {
    const XXH128_hash_t value = XXH3_128bits(bytes, size);
    return LongHash{value.low64, value.high64};
  };
  return __builtin_cpu_supports("avx2") ? hash : nullptr;
}
#else
HashLong avx2_hash() { return nullptr; }
#endif

}  // namespace physarum::base
