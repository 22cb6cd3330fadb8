#include "physarum/base/hash.hpp"

#include <gtest/gtest.h>

namespace physarum::base {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span<const char>(text));
}

// Values of the reference implementation (python: xxhash.xxh3_64_hexdigest, xxh3_128_hexdigest).
TEST(Hash, agrees_with_the_reference_implementation) {
  EXPECT_EQ(hash64(""), 0x2d06800538d394c2U);
  EXPECT_EQ(digest128(bytes_of("")).hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, tells_one_flipped_bit) {
  std::string text(1000, 'x');
  const auto before = digest128(bytes_of(text));
  const auto before64 = hash64(text);
  text[500] = static_cast<char>(text[500] ^ 1);
  EXPECT_NE(digest128(bytes_of(text)), before);
  EXPECT_NE(hash64(text), before64);
  EXPECT_NE(hash64(text, 1), hash64(text, 2));
}

}  // namespace
}  // namespace physarum::base
