#include "changed_elements.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace physarum::weights {

#if defined(__AVX512F__)

namespace {

/// One bit for each of 16 values whose rounding is not what it was.
__mmask16 moved_16(const float* rounded, const float* values) {
  const __m512i bits = _mm512_loadu_si512(values);
  // With a mask that lets all through: without one this compiler warns of its own header.
  const __m512i upper = _mm512_maskz_srli_epi32(0xffff, bits, 16);
  const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  const __m512 value = _mm512_castsi512_ps(bits);
  const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  const __m512i is = _mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x00400000));
  const __m512i differ = _mm512_xor_si512(is, _mm512_loadu_si512(rounded));
  return _mm512_test_epi32_mask(differ, _mm512_set1_epi32(static_cast<int>(0xffff0000U)));
}

std::uint64_t moved_mask_avx512(const float* rounded, const float* values) {
  std::uint64_t mask = 0;
  for (unsigned i = 0; i < 64; i += 16) {
    mask |= std::uint64_t{moved_16(rounded + i, values + i)} << i;
  }
  return mask;
}

}  // namespace

FindMoved find_moved_avx512() {
  const bool here = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("popcnt");
  return here ? &find_moved_in_groups<moved_mask_avx512> : nullptr;
}

#else

FindMoved find_moved_avx512() { return nullptr; }

#endif

}  // namespace physarum::weights
