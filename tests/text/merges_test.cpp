#include "merges.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "physarum/base/philox.hpp"

namespace physarum::text {
namespace {

using base::TokenId;
using Ids = std::vector<TokenId>;
using Rules = std::map<std::pair<TokenId, TokenId>, MergeTable::Merge>;

/// The definition: join the best pair, begin again.
Ids merge_slowly(const Rules& rules, Ids ids) {
  while (true) {
    std::optional<std::pair<std::uint32_t, std::size_t>> best;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto rule = rules.find({ids[i], ids[i + 1]});
      if (rule != rules.end() && (!best || rule->second.rank < best->first))
        best = {{rule->second.rank, i}};
    }
    if (!best) return ids;
    const auto at = best->second;
    ids[at] = rules.at({ids[at], ids[at + 1]}).joined;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Merges, agree_with_the_definition_for_random_rules_and_texts) {
  const base::RandomStream stream(3, base::StreamKind::test);
  MergeScratch scratch;
  for (std::uint64_t round = 0; round < 200; ++round) {
    Rules rules;
    std::uint32_t draw = 0;
    const auto pick = [&](std::uint64_t bound) {
      return static_cast<TokenId>(stream.below(bound, round, draw++));
    };
    TokenId tokens = 4;
    for (std::uint32_t rank = 0; rank < 20; ++rank) {
      const std::pair pair(pick(static_cast<std::uint64_t>(tokens)),
                           pick(static_cast<std::uint64_t>(tokens)));
      if (rules.emplace(pair, MergeTable::Merge{rank, tokens}).second) ++tokens;
    }
    MergeTable table(rules.size());
    for (const auto& [pair, merge] : rules) table.add(pair.first, pair.second, merge);
    Ids text(static_cast<std::size_t>(pick(60)));
    for (TokenId& id : text) id = pick(4);
    Ids merged;
    merge_tokens(table, text, scratch, merged);
    EXPECT_EQ(merged, merge_slowly(rules, text));
  }
}

TEST(MergeTable, keeps_the_last_meaning_of_a_pair) {
  MergeTable table(2);
  table.add(1, 2, {0, 3});
  table.add(1, 2, {1, 4});
  ASSERT_NE(table.find(1, 2), nullptr);
  EXPECT_EQ(table.find(1, 2)->joined, 4);
  EXPECT_EQ(table.find(2, 1), nullptr);
}

}  // namespace
}  // namespace physarum::text
