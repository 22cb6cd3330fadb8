#include "physarum/model/block_type.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/model/gguf.hpp"
#include "physarum/model/safetensors.hpp"

#include "half.hpp"

namespace physarum::model {
namespace {

const std::filesystem::path data = std::filesystem::path(PHYSARUM_TEST_DATA) / "gguf";

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

class EveryType : public ::testing::TestWithParam<const char*> {
 protected:
  EveryType()
      : file_(data / "types.gguf"),
        expected_(data / "types.safetensors"),
        tensor_(*file_.header().find(std::string("t.") + GetParam())),
        values_(static_cast<std::size_t>(tensor_.elements())) {
    expected_.read(*expected_.find(tensor_.name), values_);
  }
  std::vector<float> read(std::int64_t first, std::int64_t count) const {
    std::vector<float> out(static_cast<std::size_t>(count));
    file_.read(tensor_, first, out);
    return out;
  }
  GgufFile file_;
  SafetensorsFile expected_;
  const GgufTensor& tensor_;
  std::vector<float> values_;
};

TEST_P(EveryType, has_the_bits_of_the_gguf_package) {
  EXPECT_EQ(block_form(tensor_.type).name, GetParam());
  EXPECT_EQ(bits_of(read(0, tensor_.elements())), bits_of(values_));
}

TEST_P(EveryType, gives_ranges_that_cut_blocks) {
  for (const auto& [first, count] : {std::pair{0, 1},
                                     {1, 31},
                                     {31, 2},
                                     {5, 300},
                                     {255, 2},
                                     {256, 256},
                                     {250, 500},
                                     {767, 1},
                                     {300, 0}}) {
    const std::vector<float> part(values_.begin() + first, values_.begin() + first + count);
    EXPECT_EQ(bits_of(read(first, count)), bits_of(part)) << first << " " << count;
  }
}

INSTANTIATE_TEST_SUITE_P(BlockType, EveryType,
                         ::testing::Values("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q4_K",
                                           "Q6_K"),
                         [](const auto& one) { return std::string(one.param); });

TEST(Half, converts_all_kinds_of_numbers) {
  EXPECT_EQ(float_from_f16(0x3C00), 1.0F);
  EXPECT_EQ(float_from_f16(0xC000), -2.0F);
  EXPECT_EQ(float_from_f16(0x7BFF), 65504.0F);
  EXPECT_EQ(float_from_f16(0x0400), 0x1p-14F);
  EXPECT_EQ(float_from_f16(0x03FF), 0x1p-14F - 0x1p-24F);
  EXPECT_EQ(float_from_f16(0x8001), -0x1p-24F);
  EXPECT_TRUE(std::signbit(float_from_f16(0x8000)));
  EXPECT_EQ(float_from_f16(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(float_from_f16(0x7E00)));
  EXPECT_TRUE(std::isnan(float_from_f16(0xFC01)));
}

TEST(Half, gives_every_number_back) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_from_f16(half);
    if (std::isnan(value)) {
      EXPECT_EQ(f16_from_float(value), half | 0x0200) << bits;
    } else {
      EXPECT_EQ(f16_from_float(value), half) << bits;
    }
  }
}

TEST(Half, rounds_to_nearest_ties_to_even) {
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const float low = float_from_f16(static_cast<std::uint16_t>(bits));
    const float high = float_from_f16(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact
    EXPECT_EQ(f16_from_float(middle), bits + (bits & 1U)) << bits;
    EXPECT_EQ(f16_from_float(std::nextafter(middle, 0.0F)), bits) << bits;
    EXPECT_EQ(f16_from_float(std::nextafter(middle, 1e9F)), bits + 1) << bits;
  }
  EXPECT_EQ(f16_from_float(65519.996F), 0x7BFF);
  EXPECT_EQ(f16_from_float(65520.0F), 0x7C00);
  EXPECT_EQ(f16_from_float(-1e30F), 0xFC00);
  EXPECT_EQ(f16_from_float(1e-30F), 0);
  EXPECT_EQ(f16_from_float(-1e-30F), 0x8000);
}

}  // namespace
}  // namespace physarum::model
