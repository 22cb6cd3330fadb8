#include "physarum/base/token_sets.hpp"

#include <gtest/gtest.h>

namespace physarum::base {
namespace {

std::vector<TokenId> copy(std::span<const TokenId> set) { return {set.begin(), set.end()}; }

TEST(TokenSets, gives_back_what_was_pushed_and_empty_sets_behind_it) {
  TokenSets sets;
  EXPECT_TRUE(sets.empty());
  EXPECT_TRUE(sets.at(3).empty());
  sets.push(std::vector<TokenId>{2, 5});
  sets.pad(3);
  sets.push(std::vector<TokenId>{7});
  EXPECT_EQ(sets.size(), 4);
  EXPECT_EQ(copy(sets.at(0)), (std::vector<TokenId>{2, 5}));
  EXPECT_TRUE(sets.at(1).empty());
  EXPECT_TRUE(sets.at(2).empty());
  EXPECT_EQ(copy(sets.at(3)), (std::vector<TokenId>{7}));
  EXPECT_TRUE(sets.at(4).empty());
  EXPECT_TRUE(sets.fits_together());
  sets.pad(2);  // there are more already
  EXPECT_EQ(sets.size(), 4);
}

TEST(TokenSets, says_whether_the_sets_lie_in_the_ids) {
  EXPECT_TRUE((TokenSets{{}, {}}).fits_together());
  EXPECT_TRUE((TokenSets{{1, 2, 3}, {0, 2, 2, 3}}).fits_together());
  EXPECT_FALSE((TokenSets{{1, 2, 3}, {}}).fits_together());
  EXPECT_FALSE((TokenSets{{1, 2, 3}, {2, 1, 3}}).fits_together());
  EXPECT_FALSE((TokenSets{{1, 2, 3}, {-1, 3}}).fits_together());
  EXPECT_FALSE((TokenSets{{1, 2, 3}, {1, 4}}).fits_together());
  EXPECT_FALSE((TokenSets{{1, 2, 3}, {1, 2}}).fits_together());
}

TEST(TokenSets, a_set_rises_from_0_on_and_has_what_was_drawn) {
  const auto fault = [](const std::vector<TokenId>& set) { return set_fault(set, 4); };
  EXPECT_EQ(fault({}), nullptr);
  EXPECT_EQ(fault({4}), nullptr);
  EXPECT_EQ(fault({0, 4, 9}), nullptr);
  EXPECT_NE(fault({-1, 4}), nullptr);
  EXPECT_NE(fault({4, 4}), nullptr);
  EXPECT_NE(fault({4, 3}), nullptr);
  EXPECT_NE(fault({0, 3, 5}), nullptr);
}

}  // namespace
}  // namespace physarum::base
