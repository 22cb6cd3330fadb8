#include "physarum/text/utf8.hpp"

#include <gtest/gtest.h>

namespace physarum::text {
namespace {

TEST(Utf8, accepts_the_first_and_last_character_of_each_length) {
  for (const char32_t c : {U'\0', U'\x7F', U'\x80', U'\u07FF', U'\u0800', U'\uD7FF', U'\uE000',
                           U'\uFFFF', U'\U00010000', U'\U0010FFFF'}) {
    std::string text;
    append_utf8(text, c);
    const Utf8Step step = first_character(text);
    EXPECT_EQ(step.kind, Utf8Step::Kind::valid);
    EXPECT_EQ(step.length, text.size());
    EXPECT_EQ(step.code_point, c);
    EXPECT_FALSE(find_invalid_utf8(text));
  }
}

TEST(Utf8, refuses_overlong_forms_surrogates_and_values_beyond_unicode) {
  for (const char* bad :
       {"\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "\xFF"}) {
    EXPECT_EQ(first_character(bad).kind, Utf8Step::Kind::invalid) << bad;
    EXPECT_EQ(find_invalid_utf8(std::string("0123456789") + bad), 10U);
  }
}

TEST(Utf8, tells_the_unfinished_from_the_broken) {
  EXPECT_EQ(first_character("\xE2\x82").kind, Utf8Step::Kind::incomplete);
  EXPECT_EQ(first_character("\xE2\x82").length, 2U);
  EXPECT_EQ(first_character("\xE2x").kind, Utf8Step::Kind::invalid);
  EXPECT_EQ(first_character("\xF0\x9F\x98").kind, Utf8Step::Kind::incomplete);
}

// The example of the Unicode standard, table 3-8 and below: one mark for each maximal part.
TEST(Utf8, replaces_each_maximal_broken_part_once) {
  const std::string mark = "\uFFFD";
  EXPECT_EQ(replace_invalid_utf8("a\xF1\x80\x80\xE1\x80\xC2"
                                 "b\x80"
                                 "c\x80\xBF"
                                 "d"),
            "a" + mark + mark + mark + "b" + mark + "c" + mark + mark + "d");
  EXPECT_EQ(replace_invalid_utf8("plain \u20AC"), "plain \u20AC");
  EXPECT_EQ(replace_invalid_utf8("\xE2\x82"), mark);
  EXPECT_EQ(replace_invalid_utf8(""), "");
}

}  // namespace
}  // namespace physarum::text
