#include "physarum/text/strict_json.hpp"

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

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
