#include <numeric>

#include "keyed_sums.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace physarum::weights {

#if defined(__AVX512F__)

namespace {

// With a mask that lets all through: without one this compiler warns of its own header.
constexpr __mmask8 all_lanes = 0xff;

__m512i odd_words(__m512i words) { return _mm512_maskz_srli_epi64(all_lanes, words, 32); }
__m512i products(__m512i words, __m512i keys) {
  return _mm512_maskz_mul_epu32(all_lanes, words, keys);
}

std::uint64_t sum_of(__m512i lanes) {
  std::uint64_t parts[8];
  _mm512_storeu_si512(parts, lanes);
  return std::accumulate(parts, parts + 8, std::uint64_t{0});
}

/// A line of words at a time: products of those in even and of those in odd places.
void add_lines_avx512(const std::byte* bytes, std::size_t words, const std::uint32_t* keys,
                      base::Digest& sums) {
  constexpr std::size_t line = 16;
  static_assert(key_shift == line);
  __m512i low[2] = {}, high[2] = {};
  __m512i even_keys = _mm512_loadu_si512(keys);
  __m512i odd_keys = odd_words(even_keys);
  std::size_t i = 0;
  for (; i + line <= words; i += line) {
    __builtin_prefetch(bytes + 4 * i + sums_ahead);
    const __m512i even = _mm512_loadu_si512(bytes + 4 * i);
    const __m512i odd = odd_words(even);
    low[0] = _mm512_add_epi64(low[0], products(even, even_keys));
    low[1] = _mm512_add_epi64(low[1], products(odd, odd_keys));
    even_keys = _mm512_loadu_si512(keys + i + line);
    odd_keys = odd_words(even_keys);
    high[0] = _mm512_add_epi64(high[0], products(even, even_keys));
    high[1] = _mm512_add_epi64(high[1], products(odd, odd_keys));
  }
  sums.low += sum_of(_mm512_add_epi64(low[0], low[1]));
  sums.high += sum_of(_mm512_add_epi64(high[0], high[1]));
  add_single_words(bytes + 4 * i, words - i, keys + i, sums);
}

}  // namespace

AddWords add_words_avx512() {
  return __builtin_cpu_supports("avx512f") ? &add_lines_avx512 : nullptr;
}

#else

AddWords add_words_avx512() { return nullptr; }

#endif

}  // namespace physarum::weights
