#include "physarum/weights/convert.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "narrow_floats.hpp"

namespace physarum::weights {
namespace {

float bits(std::uint32_t pattern) { return std::bit_cast<float>(pattern); }

TEST(Convert, rounds_to_nearest_even) {
  EXPECT_EQ(bf16_from_float(bits(0x3f808000)), 0x3f80);  // tie, even stays
  EXPECT_EQ(bf16_from_float(bits(0x3f818000)), 0x3f82);  // tie, odd goes up
  EXPECT_EQ(bf16_from_float(bits(0x3f808001)), 0x3f81);
  EXPECT_EQ(bf16_from_float(bits(0x3f807fff)), 0x3f80);
  EXPECT_EQ(bf16_from_float(bits(0xbf818000)), 0xbf82);
}

TEST(Convert, keeps_special_values) {
  EXPECT_EQ(bf16_from_float(-0.0F), 0x8000);
  EXPECT_EQ(bf16_from_float(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_EQ(bf16_from_float(bits(0x7f7fffff)), 0x7f80);  // the largest float rounds to infinity
  EXPECT_EQ(bf16_from_float(bits(0x00010000)), 0x0001);  // denormal
  for (const std::uint32_t nan :
       {0x7f800001U, 0x7fffffffU, 0xffffffffU, 0xff800001U, 0x7fc00000U}) {
    EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(bits(nan))))) << nan;
    EXPECT_EQ(bf16_from_float(bits(nan)) >> 15, nan >> 31) << nan;
  }
}

TEST(Convert, every_bf16_comes_back_except_signalling_nans_become_quiet) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto pattern = static_cast<std::uint16_t>(i);
    const bool nan = (pattern & 0x7fff) > 0x7f80;
    EXPECT_EQ(bf16_from_float(float_from_bf16(pattern)), nan ? (pattern | 0x40) : pattern);
  }
}

TEST(Convert, arrays_agree_with_single_values) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 1003; ++i) values.push_back(bits(i * 4284967U));
  std::vector<std::byte> image(values.size() * 2);
  to_transfer(values, TransferType::bf16, image);
  std::vector<float> back(values.size());
  from_transfer(image, TransferType::bf16, back);
  std::vector<float> rounded = values;
  round_to_transfer(rounded, TransferType::bf16);
  std::vector<float> elsewhere(values.size());
  round_to_transfer(values, TransferType::bf16, elsewhere);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto expected = float_from_bf16(bf16_from_float(values[i]));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::bit_cast<std::uint32_t>(expected));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(rounded[i]), std::bit_cast<std::uint32_t>(expected));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(elsewhere[i]), std::bit_cast<std::uint32_t>(expected));
  }
}

TEST(Convert, rounds_alike_on_every_processor) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 4099; ++i) values.push_back(bits(i * 1048573U));
  std::vector<std::byte> baseline(values.size() * 2), avx2(values.size() * 2);
  narrow_floats(values.data(), values.size(), baseline.data());
  if (narrow_floats_avx2() == nullptr) GTEST_SKIP() << "this processor has no AVX2";
  narrow_floats_avx2()(values.data(), values.size(), avx2.data());
  EXPECT_EQ(baseline, avx2);
}

TEST(Convert, f32_is_a_copy_of_bits) {
  const std::vector<float> values = {1.5F, -0.0F, bits(0x7f800001), bits(1)};
  std::vector<std::byte> image(16);
  to_transfer(values, TransferType::f32, image);
  std::vector<float> back(4);
  from_transfer(image, TransferType::f32, back);
  std::vector<float> rounded(4);
  round_to_transfer(values, TransferType::f32, rounded);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(rounded[i]), std::bit_cast<std::uint32_t>(values[i]));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::bit_cast<std::uint32_t>(values[i]));
  }
}

}  // namespace
}  // namespace physarum::weights
