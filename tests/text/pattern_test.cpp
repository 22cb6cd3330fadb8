#include "pattern.hpp"

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "regex.hpp"

namespace physarum::text {
namespace {

std::string first_match(const std::string& pattern, const std::string& text) {
  RegexScratch scratch;
  const auto match = Regex(pattern, "here").find(text, 0, scratch);
  return match ? text.substr(match->begin, match->end - match->begin) : "none";
}

TEST(Pattern, reads_white_space_as_unicode_has_it) {
  EXPECT_EQ(first_match(R"(\s)", "a\u180e\u2028"), "\u2028");
  EXPECT_EQ(first_match(R"(\S+)", "\u3000\u180e"), "\u180e");
  EXPECT_EQ(first_match(R"([^\s]+)", "\u00a0\u180e\u0085"), "\u180e");
  EXPECT_EQ(first_match(R"(\s+)", "\t\n\v\f\r x"), "\t\n\v\f\r ");
}

TEST(Pattern, leaves_escapes_and_classes_alone) {
  EXPECT_EQ(to_pcre2(R"([\]\[\\s]\[\p{Zs}+\x{41}+)", "here"), R"([\]\[\\s]\[[\p{Zs}]+\x{41}+)");
  EXPECT_EQ(first_match(R"([!\]]+)", "a!]"), "!]");
  EXPECT_EQ(first_match(R"(\p{Lu}+)", "abÄC"), "ÄC");
  EXPECT_EQ(first_match("(?i:'s)", "x'S"), "'S");
}

// The ids of texts with new characters must not depend on the age of the library.
TEST(Pattern, knows_the_characters_of_unicode_16) {
  EXPECT_EQ(first_match(R"(\p{L}+)", "1\U00031350\U000105C0!"), "\U00031350\U000105C0");
  EXPECT_EQ(first_match(R"(\p{So}+)", "1\U0001FAE8\U0001FAE9a"), "\U0001FAE8\U0001FAE9");
  EXPECT_EQ(first_match(R"(\P{L}+)", "\U00031350a1"), "1");
  EXPECT_EQ(first_match(R"([^\p{N}]+)", "\U00010D40x"), "x");
  EXPECT_EQ(first_match(R"(\d+)", "x\U00010D40\U0001E5F1"), "\U00010D40\U0001E5F1");
  EXPECT_EQ(first_match(R"(\D+)", "\U00010D40x"), "x");
}

TEST(Pattern, reads_a_script_without_what_it_shares_with_others) {
  EXPECT_EQ(first_match(R"(\p{Han}+)", "\u3001\u4E00\U0002EBF0\u3001"), "\u4E00\U0002EBF0");
  EXPECT_EQ(first_match(R"(\p{Katakana}+)", "\u30FC\u30A2"), "\u30A2");
}

TEST(Pattern, refuses_what_the_two_libraries_read_differently) {
  for (const char* pattern : {R"(\w)",           R"(\b)",          R"(\h)",   R"(\K)",
                              R"([\S])",         "[[:alpha:]]",    "[]a]",    "[^]a]",
                              "a{2}+",           "(?s).",          "(?x: a)", R"(\v)",
                              R"(\R)",           R"(\1)",          R"(\xE9)", R"(\p{Cn})",
                              R"(\p{Nonsense})", R"(\p{L)",        R"(\pL)",  R"([\P{L}])",
                              R"([\D])",         "a{,3}",          "(?R)",    "(?1)",
                              "(?(1)a)",         "(?#x)",          "(*UCP)a", "(?P<n>a)",
                              "(?i:straSSe)",    R"(\p{Thai_Lue})"}) {
    EXPECT_THROW(static_cast<void>(to_pcre2(pattern, "here")), base::UserError) << pattern;
  }
}

TEST(Regex, gives_up_on_a_pattern_that_explodes) {
  RegexScratch scratch;
  const Regex bomb("(a+)+(a+)+(a+)+[bc]", "bomb");
  const std::string text(64, 'a');
  EXPECT_THROW(static_cast<void>(bomb.find(text, 0, scratch)), base::UserError);
}

// Each search stays below the bound, all together do not.
TEST(Regex, gives_up_on_a_text_on_which_many_searches_are_long) {
  const Regex slow("(a+)+(a+)+[bc]|a{10}|d", "slow");
  const std::string text(14, 'a');
  RegexScratch scratch;
  EXPECT_TRUE(slow.find(text, 0, scratch).has_value());
  const auto search_on = [&] {
    for (int i = 0; i < 2000; ++i) static_cast<void>(slow.find(text, 0, scratch));
  };
  EXPECT_THROW(search_on(), base::UserError);
  scratch.grant_steps(0);
  EXPECT_TRUE(slow.find(text, 0, scratch).has_value());
}

TEST(Regex, says_where_a_pattern_does_not_compile) {
  try {
    const Regex regex("(a", "t.json: pre_tokenizer");
    FAIL();
  } catch (const base::UserError& error) {
    EXPECT_TRUE(
        std::string(error.what()).starts_with("t.json: pre_tokenizer: the pattern does not"));
  }
}

}  // namespace
}  // namespace physarum::text
