#include "added_tokens.hpp"

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/philox.hpp"

namespace physarum::text {
namespace {

AddedToken plain(base::TokenId id, std::string content) {
  AddedToken token;
  token.id = id;
  token.content = std::move(content);
  return token;
}

std::string describe(const AddedTokenFinder& finder, const std::string& text,
                     SpecialTokens special = SpecialTokens::parse) {
  std::vector<Segment> segments;
  finder.split(text, special, segments);
  std::string out;
  for (const Segment& segment : segments) {
    out += segment.id < 0 ? "[" : std::to_string(segment.id) + "[";
    out += std::string(segment.text) + "]";
  }
  return out;
}

TEST(AddedTokens, takes_the_first_and_of_those_the_longest) {
  const AddedTokenFinder finder(
      {plain(0, "ab"), plain(1, "abcd"), plain(2, "bcde"), plain(3, "x")});
  EXPECT_EQ(describe(finder, "abcde"), "1[abcd][e]");
  EXPECT_EQ(describe(finder, "abc abcx"), "0[ab][c ]0[ab][c]3[x]");
  EXPECT_EQ(describe(finder, "bcde"), "2[bcde]");
  EXPECT_EQ(describe(finder, ""), "");
  EXPECT_EQ(describe(AddedTokenFinder(), "abc"), "[abc]");
}

TEST(AddedTokens, does_not_look_again_at_a_token_that_does_not_count) {
  AddedToken word = plain(0, "<a>");
  word.single_word = true;
  AddedToken special = plain(1, "<s>s");
  special.special = true;
  const AddedTokenFinder finder({word, special, plain(2, "s"), plain(3, ">")});
  EXPECT_EQ(describe(finder, "x<a>"), "[x<a>]");
  EXPECT_EQ(describe(finder, "x <a>"), "[x ]0[<a>]");
  EXPECT_EQ(describe(finder, "<s>s"), "1[<s>s]");
  EXPECT_EQ(describe(finder, "<s>ss", SpecialTokens::literal), "[<s>s]2[s]");
}

TEST(AddedTokens, asks_unicode_what_a_word_is) {
  AddedToken word = plain(0, "w");
  word.single_word = true;
  const AddedTokenFinder finder({word});
  // Letters, marks, digits, connectors, joiners, letter numbers and alphabetic symbols.
  for (const char* inside :
       {"é", "\u0301", "٣", "_", "\u200D", "Ⅷ", "Ⓐ", "\U0001F170", "中", "\U00031350"}) {
    EXPECT_EQ(describe(finder, std::string(inside) + "w"), "[" + std::string(inside) + "w]");
    EXPECT_EQ(describe(finder, "w" + std::string(inside)), "[w" + std::string(inside) + "]");
  }
  for (const char* outside : {"-", "½", "\u00A0", "😀", "\u180E"}) {
    EXPECT_EQ(describe(finder, "w" + std::string(outside)), "0[w][" + std::string(outside) + "]");
  }
}

TEST(AddedTokens, shares_white_space_between_tokens_in_order) {
  AddedToken left = plain(0, "<l>");
  left.left_strip = true;
  AddedToken right = plain(1, "<r>");
  right.right_strip = true;
  const AddedTokenFinder finder({left, right});
  EXPECT_EQ(describe(finder, "a \u3000<l> b"), "[a]0[ \u3000<l>][ b]");
  EXPECT_EQ(describe(finder, "a <r> \u2028b"), "[a ]1[<r> \u2028][b]");
  EXPECT_EQ(describe(finder, "<r>  <l>"), "1[<r>  ]0[<l>]");
  EXPECT_EQ(describe(finder, "<r>"), "1[<r>]");
}

// As in the reference, where each of the tokens strips the same run.
TEST(AddedTokens, may_be_white_space_themselves) {
  AddedToken left = plain(0, "\n");
  left.left_strip = true;
  AddedToken right = plain(1, "\t");
  right.right_strip = true;
  const AddedTokenFinder finder({left, right});
  EXPECT_EQ(describe(finder, "a \n\nb"), "[a]0[ \n]0[\n][b]");
  EXPECT_EQ(describe(finder, "a\t\tb"), "[a]1[\t\t]1[\t][b]");
  // A quarter of a million each: time must stay linear.
  std::vector<Segment> segments;
  const std::string text = std::string(1 << 18, '\n') + "x" + std::string(1 << 18, '\t');
  finder.split(text, SpecialTokens::parse, segments);
  EXPECT_EQ(segments.size(), (std::size_t{1} << 19) + 1);
}

/// The definition: at each place the longest, then behind it.
std::string slowly(const std::vector<AddedToken>& tokens, const std::string& text) {
  std::string out;
  std::string between;
  const auto flush = [&] {
    if (!between.empty()) out += "[" + between + "]";
    between.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* best = nullptr;
    for (const AddedToken& token : tokens) {
      const bool fits = text.compare(at, token.content.size(), token.content) == 0;
      if (fits && (best == nullptr || token.content.size() > best->content.size())) best = &token;
    }
    if (best == nullptr) {
      between += text[at++];
      continue;
    }
    flush();
    out += std::to_string(best->id) + "[" + best->content + "]";
    at += best->content.size();
  }
  flush();
  return out;
}

TEST(AddedTokens, agrees_with_the_definition_for_random_tokens_and_texts) {
  const base::RandomStream stream(23, base::StreamKind::test);
  for (std::uint64_t round = 0; round < 2000; ++round) {
    std::uint32_t draw = 0;
    const auto word = [&](std::uint64_t longest) {
      std::string text(1 + stream.below(longest, round, draw++), 'a');
      for (char& c : text) c = static_cast<char>('a' + stream.below(3, round, draw++));
      return text;
    };
    std::vector<AddedToken> tokens;
    for (base::TokenId id = 0; id < 6; ++id) {
      std::string content = word(5);
      const auto has_it = [&](const AddedToken& token) { return token.content == content; };
      if (std::none_of(tokens.begin(), tokens.end(), has_it)) tokens.push_back(plain(id, content));
    }
    const std::string text = word(30);
    ASSERT_EQ(describe(AddedTokenFinder(tokens), text), slowly(tokens, text)) << text;
  }
}

TEST(AddedTokens, holds_two_of_the_same_for_a_mistake) {
  EXPECT_THROW(AddedTokenFinder({plain(0, "a"), plain(1, "a")}), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::text
