// The digests of blocks: what they see, that every way to make them gives the same bits, and that
// they follow changes.
#include "keyed_sums.hpp"

#include <cstring>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "block_digests.hpp"

namespace physarum::weights {
namespace {

constexpr std::size_t block_of_sums = block_words * 4;
using Block = std::vector<std::byte>;

Block random_block(std::size_t bytes, unsigned seed) {
  std::mt19937_64 random(seed);
  Block block(bytes);
  for (std::byte& byte : block) byte = static_cast<std::byte>(random());
  return block;
}

std::vector<base::Digest> digests_of(std::span<const std::byte> bytes) {
  base::ThreadTeam alone(1);
  std::vector<base::Digest> digests;
  make_block_digests(bytes, digests, alone);
  return digests;
}

base::Digest sums_by(AddWords add, const Block& block, std::size_t first) {
  base::Digest sums{7, 9};
  add(block.data() + 4 * first, block.size() / 4 - first, sum_keys() + first, sums);
  return sums;
}

/// As the definition says, in whole numbers.
base::Digest by_definition(const Block& block) {
  base::Digest digest = empty_sums(block.size());
  for (std::size_t i = 0; i < block.size() / 4; ++i) {
    std::uint32_t word;
    std::memcpy(&word, block.data() + 4 * i, 4);
    digest.low += std::uint64_t{word} * sum_keys()[i];
    digest.high += std::uint64_t{word} * sum_keys()[i + key_shift];
  }
  return digest;
}

void expect_as_baseline(AddWords add) {
  for (const std::size_t words : {0, 1, 7, 8, 15, 16, 17, 31, 100, 16383, 16384}) {
    for (const std::size_t first : {0, 1, 5}) {
      if (first > words) continue;
      const Block block = random_block(4 * words, 5);
      EXPECT_EQ(sums_by(add, block, first), sums_by(add_words_baseline(), block, first))
          << words << " words from " << first;
    }
  }
  const Block ones(block_of_sums, std::byte{0xff});
  EXPECT_EQ(sums_by(add, ones, 0), sums_by(add_words_baseline(), ones, 0));
}

TEST(KeyedSums, have_the_same_bits_with_avx2) {
  if (add_words_avx2() == nullptr) GTEST_SKIP() << "this processor has no AVX2";
  expect_as_baseline(add_words_avx2());
}

TEST(KeyedSums, have_the_same_bits_with_avx512) {
  if (add_words_avx512() == nullptr) GTEST_SKIP() << "this processor has no AVX-512";
  expect_as_baseline(add_words_avx512());
}

TEST(KeyedSums, are_those_of_the_definition) {
  const Block block = random_block(block_of_sums, 6);
  EXPECT_EQ(digests_of(block).front(), by_definition(block));
}

/// Files hold digests: the keys may not change.
TEST(KeyedSums, have_keys_that_stay) {
  EXPECT_EQ(sum_keys()[0], 0xe022c2ddU);
  EXPECT_EQ(sum_keys()[block_words + key_shift - 1], 0xf06d53cdU);
  std::set<std::uint32_t> different(sum_keys(), sum_keys() + block_words + key_shift);
  EXPECT_GT(different.size(), block_words - 16);
}

TEST(KeyedSums, see_every_bit_of_a_block) {
  Block block = random_block(block_of_sums, 8);
  const auto right = digests_of(block).front();
  std::mt19937_64 random(9);
  for (int flip = 0; flip < 2000; ++flip) {
    const std::size_t byte = random() % block.size();
    const auto bit = static_cast<std::byte>(1U << random() % 8);
    block[byte] ^= bit;
    const auto wrong = digests_of(block).front();
    ASSERT_NE(wrong.low, right.low) << byte;
    ASSERT_NE(wrong.high, right.high) << byte;
    block[byte] ^= bit;
  }
  EXPECT_EQ(digests_of(block).front(), right);
}

TEST(KeyedSums, see_words_that_change_places) {
  const Block block = random_block(block_of_sums, 10);
  for (const std::size_t distance : {4U, 8U, 32U, 64U, 128U, 4096U}) {
    Block moved = block;
    std::swap_ranges(moved.begin(), moved.begin() + 4, moved.begin() + distance);
    EXPECT_NE(digests_of(moved), digests_of(block)) << distance;
  }
}

TEST(KeyedSums, tell_zeros_of_one_length_from_those_of_another_and_from_a_table_of_zeros) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen = {{0, 0}};
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4},
                                  std::size_t{64}, block_of_sums - 64, block_of_sums}) {
    const auto digest = digests_of(Block(bytes)).front();
    EXPECT_TRUE(seen.emplace(digest.low, digest.high).second) << bytes;
  }
}

/// The last bytes are no whole word.
TEST(KeyedSums, see_the_last_byte_of_an_odd_length) {
  Block block = random_block(1001, 11);
  const auto right = digests_of(block);
  block.back() ^= std::byte{1};
  EXPECT_NE(digests_of(block), right);
}

TEST(KeyedSums, are_made_of_pieces_in_any_order) {
  base::ThreadTeam team(3);
  const Block bytes = random_block(3 * block_of_sums + 640, 12);
  auto digests = digests_of_zeros(std::ssize(bytes));
  const std::vector<std::size_t> cuts = {0, 64, block_of_sums, 2 * block_of_sums + 68,
                                         bytes.size()};
  for (std::size_t i = cuts.size() - 1; i-- > 0;) {
    const auto piece = std::span(bytes).subspan(cuts[i], cuts[i + 1] - cuts[i]);
    add_to_digests(piece, static_cast<std::int64_t>(cuts[i]), digests, team);
  }
  EXPECT_EQ(digests, digests_of(bytes));
}

template <class Element>
void expect_follow_changes() {
  Block bytes = random_block(2 * block_of_sums + 128, 13);
  auto digests = digests_of(bytes);
  constexpr std::size_t first = block_of_sums / sizeof(Element);
  const ChangedSums<Element> note(digests, first);
  std::mt19937_64 random(14);
  for (int change = 0; change < 5000; ++change) {
    const std::size_t position = random() % (bytes.size() / sizeof(Element) - first);
    std::byte* const place = bytes.data() + (first + position) * sizeof(Element);
    Element was;
    std::memcpy(&was, place, sizeof was);
    const auto is = static_cast<Element>(change % 3 == 0 ? random() : was + 1U);
    std::memcpy(place, &is, sizeof is);
    note(position, was, is);
  }
  EXPECT_EQ(digests, digests_of(bytes));
}

TEST(KeyedSums, follow_changes_of_elements) {
  expect_follow_changes<std::uint16_t>();
  expect_follow_changes<std::uint32_t>();
}

}  // namespace
}  // namespace physarum::weights
