#include "changed_elements.hpp"

#include <bit>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/weights/convert.hpp"

namespace physarum::weights {
namespace {

using Found = std::vector<std::uint32_t>;

Found found_by(FindChanged find, const std::vector<std::byte>& before,
               const std::vector<std::byte>& after, std::size_t elements) {
  Found positions(elements + position_slack);
  positions.resize(find(before.data(), after.data(), elements, positions.data()));
  return positions;
}

void expect_finds_all(FindChanged find, std::size_t width) {
  std::mt19937 random(31);
  for (const std::size_t elements : {0U, 1U, 63U, 64U, 65U, 1000U, 4096U}) {
    for (const double density : {0.0, 0.01, 0.2, 1.0}) {
      std::vector<std::byte> before(elements * width);
      for (std::byte& byte : before) byte = static_cast<std::byte>(random());
      auto after = before;
      Found expected;
      std::bernoulli_distribution hit(density);
      for (std::size_t i = 0; i < elements; ++i) {
        if (!hit(random)) continue;
        after[i * width + random() % width] ^= static_cast<std::byte>(1U << random() % 8);
        expected.push_back(static_cast<std::uint32_t>(i));
      }
      EXPECT_EQ(found_by(find, before, after, elements), expected)
          << elements << " elements of " << width << " bytes, density " << density;
    }
  }
}

Found moved_by(FindMoved find, const std::vector<float>& rounded,
               const std::vector<float>& values) {
  Found positions(values.size() + position_slack);
  positions.resize(find(rounded.data(), values.data(), values.size(), positions.data()));
  return positions;
}

/// Any bits: values that round up, to infinity, NaNs.
void expect_finds_moved(FindMoved find) {
  std::mt19937 random(32);
  for (const std::size_t elements : {0, 1, 63, 64, 65, 1000, 4096}) {
    std::vector<float> values(elements);
    for (float& value : values) {
      value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      if (random() % 8 == 0)
        value = std::bit_cast<float>(static_cast<std::uint32_t>(0x7f7fffffU + random() % 4));
    }
    auto rounded = values;
    round_to_transfer(rounded, TransferType::bf16);
    EXPECT_TRUE(moved_by(find, rounded, values).empty());
    Found expected;
    for (std::size_t i = random() % 5; i < elements; i += 1 + random() % 40) {
      const std::uint32_t bit = 1U << (16 + random() % 16);
      rounded[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(rounded[i]) ^ bit);
      expected.push_back(static_cast<std::uint32_t>(i));
    }
    EXPECT_EQ(moved_by(find, rounded, values), expected) << elements;
  }
}

TEST(ChangedValues, are_found_against_what_they_round_to) {
  expect_finds_moved(find_moved_baseline());
  expect_finds_moved(find_moved());
  if (find_moved_avx2() != nullptr) expect_finds_moved(find_moved_avx2());
  if (find_moved_avx512() != nullptr) expect_finds_moved(find_moved_avx512());
}

class ChangedElements : public testing::TestWithParam<std::size_t> {};

TEST_P(ChangedElements, are_all_found_by_the_baseline) {
  expect_finds_all(find_changed_baseline(GetParam()), GetParam());
}

TEST_P(ChangedElements, are_all_found_with_avx2) {
  if (find_changed_avx2(GetParam()) == nullptr) GTEST_SKIP() << "this processor has no AVX2";
  expect_finds_all(find_changed_avx2(GetParam()), GetParam());
}

TEST_P(ChangedElements, are_all_found_by_the_one_in_use) {
  expect_finds_all(find_changed(GetParam()), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Widths, ChangedElements, testing::Values(2U, 4U));

}  // namespace
}  // namespace physarum::weights
