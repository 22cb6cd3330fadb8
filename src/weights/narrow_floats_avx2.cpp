#include "narrow_floats.hpp"

namespace physarum::weights {

#if defined(__AVX2__)
NarrowFloats narrow_floats_avx2() {
  return __builtin_cpu_supports("avx2") ? &narrow_floats : nullptr;
}
#else
NarrowFloats narrow_floats_avx2() { return nullptr; }
#endif

}  // namespace physarum::weights
