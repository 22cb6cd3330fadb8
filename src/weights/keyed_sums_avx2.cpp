#include "keyed_sums.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace physarum::weights {

#if defined(__AVX2__)

namespace {

__m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

/// Eight products of words and keys, added up in pairs of an even and an odd place.
__m256i products(__m256i words, __m256i keys) {
  return _mm256_add_epi64(
      _mm256_mul_epu32(words, keys),
      _mm256_mul_epu32(_mm256_srli_epi64(words, 32), _mm256_srli_epi64(keys, 32)));
}

std::uint64_t sum_of(__m256i lanes) {
  std::uint64_t parts[4];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(parts), lanes);
  return parts[0] + parts[1] + parts[2] + parts[3];
}

void add_lines_avx2(const std::byte* bytes, std::size_t words, const std::uint32_t* keys,
                    base::Digest& sums) {
  constexpr std::size_t vector = 8;
  __m256i low = _mm256_setzero_si256();
  __m256i high = _mm256_setzero_si256();
  std::size_t i = 0;
  for (; i + vector <= words; i += vector) {
    __builtin_prefetch(bytes + 4 * i + sums_ahead);
    const __m256i data = load(bytes + 4 * i);
    low = _mm256_add_epi64(low, products(data, load(keys + i)));
    high = _mm256_add_epi64(high, products(data, load(keys + i + key_shift)));
  }
  sums.low += sum_of(low);
  sums.high += sum_of(high);
  add_single_words(bytes + 4 * i, words - i, keys + i, sums);
}

}  // namespace

AddWords add_words_avx2() { return __builtin_cpu_supports("avx2") ? &add_lines_avx2 : nullptr; }

#else

AddWords add_words_avx2() { return nullptr; }

#endif

}  // namespace physarum::weights
