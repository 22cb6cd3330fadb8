#include "physarum/base/hash.hpp"

#include <cstdio>

#include "xxh3.hpp"

namespace physarum::base {

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
  static const DigestFunction best = avx2_digest() != nullptr ? avx2_digest() : xxh3_digest;
  return best(bytes);
}

}  // namespace physarum::base
