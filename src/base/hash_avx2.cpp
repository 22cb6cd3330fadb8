#include "xxh3.hpp"

namespace physarum::base {

#if XXH_VECTOR == XXH_AVX2
DigestFunction avx2_digest() { return __builtin_cpu_supports("avx2") ? xxh3_digest : nullptr; }
#else
DigestFunction avx2_digest() { return nullptr; }
#endif

}  // namespace physarum::base
