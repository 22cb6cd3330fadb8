#include "seen_tokens.hpp"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/philox.hpp"

namespace physarum::rollout {
namespace {

std::map<base::TokenId, std::int32_t> counts_of(const SeenTokens& seen) {
  std::map<base::TokenId, std::int32_t> counts;
  for (const auto& entry : seen.entries()) {
    EXPECT_TRUE(counts.emplace(entry.token, entry.count).second)
        << entry.token << " is there twice";
  }
  return counts;
}

TEST(SeenTokens, counts_as_a_map_does) {
  const base::RandomStream stream(4, base::StreamKind::test);
  // Few ids (many repetitions), many ids (the table doubles), ids that collide in their low bits.
  for (const std::uint64_t ids : {5ULL, 3000ULL, 1ULL << 31}) {
    std::vector<base::TokenId> prompt;
    std::map<base::TokenId, std::int32_t> expected;
    for (std::uint32_t i = 0; i < 100; ++i) {
      prompt.push_back(static_cast<base::TokenId>(stream.below(ids, 1, i)));
      expected[prompt.back()] = 0;
    }
    SeenTokens seen(prompt);
    EXPECT_EQ(counts_of(seen), expected);
    for (std::uint32_t i = 0; i < 5000; ++i) {
      const auto token = static_cast<base::TokenId>(stream.below(ids, 2, i));
      seen.push(token);
      ++expected[token];
    }
    EXPECT_EQ(counts_of(seen), expected);
  }
}

TEST(SeenTokens, multiples_of_large_powers_of_two_are_told_apart) {
  SeenTokens seen({});
  for (std::int32_t i = 0; i < 1000; ++i) seen.push(i << 20);
  EXPECT_EQ(seen.entries().size(), 1000U);
}

TEST(SeenTokens, copies_count_on_their_own) {
  const std::vector<base::TokenId> prompt = {7};
  SeenTokens first(prompt);
  auto second = first;
  first.push(7);
  second.push(8);
  EXPECT_EQ(counts_of(first), (std::map<base::TokenId, std::int32_t>{{7, 1}}));
  EXPECT_EQ(counts_of(second), (std::map<base::TokenId, std::int32_t>{{7, 0}, {8, 1}}));
}

TEST(Penalties, are_those_of_their_definitions) {
  sample::SamplingOptions options;
  EXPECT_FALSE(has_penalties(options));
  options.repetition_penalty = 2;
  options.frequency_penalty = 0.5;
  options.presence_penalty = 0.25;
  EXPECT_TRUE(has_penalties(options));
  const std::vector<base::TokenId> prompt = {0, 1, 2, 2};
  SeenTokens seen(prompt);
  for (const base::TokenId token : {2, 3, 3, 4}) seen.push(token);
  std::vector<float> logits = {4.0F, -4.0F, 4.0F, -4.0F, 0.0F, 4.0F};
  penalise(seen, options, logits.data());
  // Of the prompt: halved or doubled. Of the answer: also minus 0.5 n + 0.25. The last: untouched.
  EXPECT_EQ(logits, (std::vector<float>{2.0F, -8.0F, 1.25F, -9.25F, -0.75F, 4.0F}));
}

TEST(Penalties, each_alone_is_a_penalty) {
  for (double sample::SamplingOptions::*field :
       {&sample::SamplingOptions::repetition_penalty, &sample::SamplingOptions::presence_penalty,
        &sample::SamplingOptions::frequency_penalty}) {
    sample::SamplingOptions options;
    options.*field = 1.5;
    EXPECT_TRUE(has_penalties(options));
    SeenTokens seen({});
    seen.push(1);
    std::vector<float> logits = {3.0F, 3.0F};
    penalise(seen, options, logits.data());
    EXPECT_EQ(logits[0], 3.0F);
    EXPECT_EQ(logits[1], field == &sample::SamplingOptions::repetition_penalty ? 2.0F : 1.5F);
  }
}

}  // namespace
}  // namespace physarum::rollout
