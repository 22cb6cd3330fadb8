#include "physarum/base/hash.hpp"

#include <utility>
#include <vector>

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

/// Short and long inputs take different ways through the library, and long ones one of their own
/// on each kind of processor.
TEST(Hash, agrees_with_the_reference_implementation_at_every_length) {
  const std::pair<std::size_t, const char*> expected[] = {
      {16, "ddf6c1254d70f76794eaa17b20756f46"},    {200, "dbfff5e13c798ab90497bdb3d145ccd6"},
      {240, "89e3a0a2ee355d25d10beb4e0599e4b3"},   {241, "75f4da43f23cce5a541b19226f0052e8"},
      {1000, "bae798f9321bda6cd1db6a0afea2cc82"},  {4096, "08ef8fc6d37a71915c722d9ceb6f9064"},
      {100003, "1f54492de8a6ea06a9b717cb7935c575"}};
  for (const auto& [length, hex] : expected) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
    EXPECT_EQ(digest128(bytes).hex(), hex) << length;
  }
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
