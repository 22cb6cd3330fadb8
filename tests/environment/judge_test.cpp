#include "judge.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace physarum::environment {
namespace {

using nlohmann::json;

json signals(const Verdict& verdict) { return json::parse(verdict.evidence.verdict); }

TEST(LastNumber, reads_numbers_as_people_write_them) {
  const std::pair<const char*, const char*> cases[] = {
      {"42", "42"},
      {"The answer is 042.", "42"},
      {"1 and 2 and 3", "3"},
      {"1,234,567", "1234567"},
      {"1,23", "23"},
      {"12,3456", "3456"},
      {"3.50", "3.5"},
      {"0.0", "0"},
      {"x = -7", "-7"},
      {"5-3", "3"},
      {"(2)-3", "3"},
      {"is \u22127", "-7"},
      {"-0", "0"},
      {"-1,000.250 EUR", "-1000.25"},
      {"007", "7"},
      {"000", "0"},
      {"ends with 5...", "5"},
      {"#### 72", "72"},
      {"\xff\xfe 8 \x80", "8"},
  };
  for (const auto& [text, number] : cases) EXPECT_EQ(last_number(text), number) << text;
  for (const char* none : {"", "none", "-", ".", "\xff"}) EXPECT_FALSE(last_number(none)) << none;
}

TEST(JudgeFixed, wants_the_label_itself) {
  EXPECT_EQ(judge_fixed("122", "122").reward, 1);
  const Verdict wrong = judge_fixed("122", "123");
  EXPECT_EQ(wrong.reward, 0);
  EXPECT_EQ(signals(wrong)["well_formed"], true);
  EXPECT_EQ(signals(judge_fixed("122", "12a"))["well_formed"], false);
  EXPECT_EQ(judge_fixed("", "").reward, 0);
}

TEST(JudgeExactMatch, forgives_white_space_around_the_answer) {
  EXPECT_EQ(judge_exact_match("Paris", "  Paris\r\n").reward, 1);
  EXPECT_EQ(judge_exact_match(" Paris\n", "Paris").reward, 1);
  EXPECT_EQ(judge_exact_match("New York", "New  York").reward, 0);
  EXPECT_EQ(judge_exact_match("Paris", "paris").reward, 0);
  const Verdict unlabelled = judge_exact_match(" ", "");
  EXPECT_EQ(unlabelled.reward, 0);
  EXPECT_EQ(signals(unlabelled)["has_label"], false);
}

TEST(JudgeLastNumber, shows_what_it_found) {
  const Verdict right = judge_last_number("#### 1,000", "so 999 + 1 = 1000.0");
  EXPECT_EQ(right.reward, 1);
  EXPECT_EQ(signals(right)["found"], "1000");
  const Verdict wrong = judge_last_number("none", "5");
  EXPECT_EQ(wrong.reward, 0);
  EXPECT_TRUE(signals(wrong)["expected"].is_null());
  EXPECT_LT(judge_last_number("1", std::string(100000, '9')).evidence.verdict.size(), 200U);
}

TEST(Judge, records_evidence) {
  const auto evidence = judge_exact_match("a", "b").evidence;
  EXPECT_EQ(evidence.verifier, "exact_match");
  EXPECT_EQ(evidence.verifier_version, 1);
  EXPECT_GE(evidence.seconds, 0);
  EXPECT_LT(evidence.seconds, 1);
  EXPECT_EQ(evidence.input_hash, judge_exact_match("a", "b").evidence.input_hash);
  EXPECT_NE(evidence.input_hash, judge_exact_match("a", "c").evidence.input_hash);
  EXPECT_NE(evidence.input_hash, judge_exact_match("b", "b").evidence.input_hash);
  EXPECT_NE(judge_exact_match("ab", "c").evidence.input_hash,
            judge_exact_match("a", "bc").evidence.input_hash);
}

}  // namespace
}  // namespace physarum::environment
