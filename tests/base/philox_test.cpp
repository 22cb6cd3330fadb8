#include "physarum/base/philox.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace physarum::base {
namespace {

// Known answers that the authors of Philox publish with their library (Random123, kat_vectors).
TEST(Philox, gives_the_published_known_answers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, depends_on_seed_kind_item_and_position_only) {
  const RandomStream stream(7, StreamKind::sampling);
  EXPECT_EQ(stream.bits(5, 3), RandomStream(7, StreamKind::sampling).bits(5, 3));
  std::set<std::uint64_t> seen{stream.bits(5, 3)};
  seen.insert(stream.bits(5, 4));
  seen.insert(stream.bits(6, 3));
  seen.insert(RandomStream(8, StreamKind::sampling).bits(5, 3));
  seen.insert(RandomStream(7, StreamKind::shuffle).bits(5, 3));
  EXPECT_EQ(seen.size(), 5U);
}

TEST(RandomStream, has_the_moments_of_its_distributions) {
  const RandomStream stream(1, StreamKind::test);
  constexpr int count = 100000;
  double uniform = 0, normal = 0, square = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double u = stream.uniform(0, i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    uniform += u;
    const double n = stream.normal(1, i);
    normal += n;
    square += n * n;
    ASSERT_LT(stream.below(10, 2, i), 10U);
  }
  EXPECT_NEAR(uniform / count, 0.5, 0.005);
  EXPECT_NEAR(normal / count, 0.0, 0.02);
  EXPECT_NEAR(square / count, 1.0, 0.03);
}

}  // namespace
}  // namespace physarum::base
