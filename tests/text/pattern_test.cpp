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
  EXPECT_EQ(to_pcre2(R"([\]\[\\s]\[\p{Lu}+\x{41}+)", "here"), R"([\]\[\\s]\[\p{Lu}+\x{41}+)");
  EXPECT_EQ(first_match(R"([!\]]+)", "a!]"), "!]");
  EXPECT_EQ(first_match(R"(\p{Lu}+)", "abÄC"), "ÄC");
  EXPECT_EQ(first_match("(?i:'s)", "x'S"), "'S");
}

TEST(Pattern, refuses_what_the_two_libraries_read_differently) {
  for (const char* pattern : {R"(\w)", R"(\b)", R"(\h)", R"(\K)", R"([\S])", "[[:alpha:]]", "[]a]",
                              "[^]a]", "a{2}+", "(?s).", "(?x: a)"}) {
    EXPECT_THROW(static_cast<void>(to_pcre2(pattern, "here")), base::UserError) << pattern;
  }
}

TEST(Regex, gives_up_on_a_pattern_that_explodes) {
  RegexScratch scratch;
  const Regex bomb("(a+)+(a+)+(a+)+[bc]", "bomb");
  const std::string text(64, 'a');
  EXPECT_THROW(static_cast<void>(bomb.find(text, 0, scratch)), base::UserError);
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
