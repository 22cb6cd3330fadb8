#include "physarum/text/strict_json.hpp"

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"
#include "physarum/base/philox.hpp"

namespace physarum::text {
namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(StrictJson, reads_plain_values) {
  EXPECT_EQ(parse_strict_json(R"({"a": [1, 2.5, "x", null, true]})", "here")["a"].size(), 5U);
}

TEST(StrictJson, holds_its_depth_at_the_last_allowed_value_and_not_beyond) {
  EXPECT_NO_THROW(static_cast<void>(parse_strict_json(nested(63), "here")));
  EXPECT_NO_THROW(static_cast<void>(parse_strict_json(nested(64), "here")));
  EXPECT_THROW(static_cast<void>(parse_strict_json(nested(65), "here")), base::UserError);
  EXPECT_THROW(static_cast<void>(parse_strict_json(std::string(10000000, '['), "here")),
               base::UserError);
}

TEST(StrictJson, refuses_what_is_ambiguous_or_no_json) {
  for (const char* bad : {"", "{", "1 2", R"({"a":1,"a":2})", R"([{"b":{"c":1,"d":2,"c":3}}])",
                          "nan", "1e999", "\"\xff\"", R"("\ud800")", "\"a\nb\"", "{'a':1}"}) {
    EXPECT_THROW(static_cast<void>(parse_strict_json(bad, "here")), base::UserError) << bad;
  }
  EXPECT_NO_THROW(static_cast<void>(parse_strict_json(R"({"a":{"a":1},"b":[{"a":1}]})", "here")));
}

TEST(StrictJson, reads_escapes_and_numbers_as_what_they_mean) {
  EXPECT_EQ(parse_strict_json(R"("\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00")", "here"),
            "\"\\/\b\f\n\r\t\u00e9\U0001F600");
  EXPECT_TRUE(parse_strict_json("-9223372036854775808", "here").is_number_integer());
  EXPECT_TRUE(parse_strict_json("18446744073709551615", "here").is_number_unsigned());
  EXPECT_TRUE(parse_strict_json("18446744073709551616", "here").is_number_float());
  EXPECT_EQ(parse_strict_json("-2.5e-3", "here"), -0.0025);
  EXPECT_EQ(parse_strict_json("1e-999", "here"), 0.0);
  EXPECT_EQ(parse_strict_json("\xEF\xBB\xBF 1 ", "here"), 1);
}

TEST(StrictJson, keeps_the_order_of_keys_if_asked_to) {
  const std::string text = R"({"b":{"z":1,"a":[{"y":2,"x":3}]},"a":0})";
  EXPECT_EQ(parse_strict_ordered_json(text, "here").dump(), text);
  EXPECT_THROW(static_cast<void>(parse_strict_ordered_json(R"({"b":1,"a":2,"b":3})", "here")),
               base::UserError);
  std::string many = "{";  // as many keys as a line of prompts can hold: no search through them all
  for (int i = 0; i < 300000; ++i) many.append("\"").append(std::to_string(i)).append("\":0,");
  many.back() = '}';
  EXPECT_EQ(parse_strict_ordered_json(many, "here").size(), 300000U);
}

// The library's own parser keeps the last of two equal keys, ours refuses them; in all else they
// are one.
TEST(StrictJson, agrees_with_the_library_on_changed_texts) {
  const std::string text =
      R"({"a": [1, -2.5e+3, "x\u00e9\n", null, true, false], "b": {"c": {}, "d": []}, "e": "\ud83d\ude00"})";
  const std::string letters = "{}[]\",:\\ u0123456789abcdefEnrt.-+\n\x01\xC3\xA9\xFF";
  const base::RandomStream stream(29, base::StreamKind::test);
  int accepted = 0;
  for (std::uint64_t round = 0; round < 50000; ++round) {
    std::string changed = text;
    const auto changes = 1 + stream.below(3, round, 0);
    for (std::uint32_t i = 0; i < changes; ++i) {
      changed[stream.below(changed.size(), round, 2 * i + 1)] =
          letters[stream.below(letters.size(), round, 2 * i + 2)];
    }
    const auto expected = nlohmann::json::parse(changed, nullptr, false);
    try {
      ASSERT_EQ(parse_strict_json(changed, "here"), expected) << changed;
      ++accepted;
    } catch (const base::UserError& error) {
      const bool twice = std::string(error.what()).find("twice") != std::string::npos;
      ASSERT_TRUE(expected.is_discarded() || twice) << changed << '\n' << error.what();
    }
  }
  EXPECT_GT(accepted, 1000);
}

TEST(StrictJson, keeps_messages_short_whatever_the_text_is) {
  try {
    static_cast<void>(parse_strict_json("\"" + std::string(1000000, 'x') + "\xff", "here"));
    FAIL();
  } catch (const base::UserError& error) {
    EXPECT_LT(std::string(error.what()).size(), 400U);
  }
}

}  // namespace
}  // namespace physarum::text
