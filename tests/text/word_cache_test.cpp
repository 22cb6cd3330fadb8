#include "word_cache.hpp"

#include <cstdint>
#include <numeric>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "token_index.hpp"

namespace physarum::text {
namespace {

std::string word_of(int i) { return "w" + std::to_string(std::int64_t{i} * 7919); }

TEST(WordCache, gives_back_what_was_put_or_nothing) {
  WordCache cache;
  int kept = 0;
  constexpr int words = 400000;  // more than its store holds
  for (int i = 0; i < words; ++i) {
    EXPECT_FALSE(cache.find(word_of(i)));
    cache.put(word_of(i), std::vector<base::TokenId>{i, -i, 3});
    const auto found = cache.find(word_of(i));
    ASSERT_TRUE(found);
    EXPECT_EQ(std::vector<base::TokenId>(found->begin(), found->end()),
              (std::vector<base::TokenId>{i, -i, 3}));
  }
  for (int i = 0; i < words; ++i) {
    const auto found = cache.find(word_of(i));
    if (!found) continue;
    ++kept;
    ASSERT_EQ(found->front(), i);
  }
  EXPECT_GT(kept, 1000);
}

TEST(WordCache, keeps_words_that_have_no_tokens) {
  WordCache cache;
  cache.put("%", {});
  ASSERT_TRUE(cache.find("%"));
  EXPECT_TRUE(cache.find("%")->empty());
}

TEST(WordCache, holds_a_word_that_is_too_long_for_a_mistake) {
  WordCache cache;
  EXPECT_NO_THROW(cache.put(std::string(WordCache::longest_word, 'a'), {}));
  EXPECT_THROW(cache.put(std::string(WordCache::longest_word + 1, 'a'), {}),
               base::ContractViolation);
}

TEST(TokenIndex, finds_each_token_and_nothing_else) {
  std::vector<std::string> tokens(50000);
  TokenIndex index(tokens.size());
  for (int i = 0; i < 50000; ++i) {
    tokens[static_cast<std::size_t>(i)] = word_of(i);
    index.add(tokens, i);
  }
  for (int i = 0; i < 50000; ++i) EXPECT_EQ(index.find(tokens, word_of(i)), i);
  EXPECT_FALSE(index.find(tokens, "w1"));
  EXPECT_FALSE(index.find(tokens, ""));
}

TEST(TokenIndex, keeps_the_first_of_two_with_the_same_bytes) {
  const std::vector<std::string> tokens = {"a", "a"};
  TokenIndex index(2);
  index.add(tokens, 0);
  index.add(tokens, 1);
  EXPECT_EQ(index.find(tokens, "a"), 0);
}

}  // namespace
}  // namespace physarum::text
