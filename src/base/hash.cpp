#include "physarum/base/hash.hpp"

#define XXH_INLINE_ALL
#include <cstdio>

#include <xxhash.h>

#include "hash_long.hpp"

namespace physarum::base {

namespace {
LongHash plain_hash(const std::byte* bytes, std::size_t size) {
  const XXH128_hash_t value = XXH3_128bits(bytes, size);
  return {value.low64, value.high64};
}
}  // namespace

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash64(std::string_view text, std::uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

std::string Digest::hex() const {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text;
}

Digest digest128(std::span<const std::byte> bytes) {
  static const HashLong best = avx2_hash() != nullptr ? avx2_hash() : plain_hash;
  const LongHash hash = best(bytes.data(), bytes.size());
  return {hash.low, hash.high};
}

}  // namespace physarum::base
