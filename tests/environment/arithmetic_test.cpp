#include "physarum/environment/arithmetic.hpp"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "problem.hpp"

namespace physarum::environment {
namespace {

using Settings = ArithmeticEnvironment::Settings;

std::set<std::string> held_out_texts(const ArithmeticEnvironment& environment) {
  std::set<std::string> texts;
  for (std::int64_t i = 0; i < environment.held_out_count(); ++i) {
    texts.insert(environment.held_out(i).text);
  }
  return texts;
}

// The proof for two digits: every problem is in exactly one of the two splits, and so many draws
// that each training problem comes up (a given one is missed with probability e^-31).
TEST(Arithmetic, trains_on_exactly_the_problems_that_it_does_not_hold_out) {
  const ArithmeticEnvironment environment(Settings{.level = "add2", .seed = 5});
  const auto held_out = held_out_texts(environment);
  ASSERT_EQ(held_out.size(), 500U);
  std::set<std::string> trained;
  for (std::int64_t i = 0; i < 300000; ++i) trained.insert(environment.make(i).text);
  EXPECT_EQ(trained.size(), 9500U);
  for (const std::string& text : held_out) EXPECT_FALSE(trained.contains(text)) << text;
}

TEST(Arithmetic, never_trains_on_held_out_problems_of_any_level) {
  for (const char* level : {"add1", "sub1", "mul1", "add3", "sub2", "mul2", "mixed"}) {
    const ArithmeticEnvironment environment(Settings{.level = level, .held_out = 2000, .seed = 9});
    const auto held_out = held_out_texts(environment);
    EXPECT_EQ(static_cast<std::int64_t>(held_out.size()), environment.held_out_count());
    for (std::int64_t i = 0; i < 20000; ++i) {
      EXPECT_FALSE(held_out.contains(environment.make(i).text)) << level;
    }
  }
}

TEST(Arithmetic, holds_out_the_same_problems_for_every_seed_and_level) {
  const ArithmeticEnvironment one(Settings{.level = "add2", .seed = 1});
  const ArithmeticEnvironment two(Settings{.level = "add2", .seed = 2});
  for (std::int64_t i = 0; i < one.held_out_count(); ++i) {
    EXPECT_EQ(one.held_out(i), two.held_out(i));
  }
  const auto mixed = held_out_texts(ArithmeticEnvironment(Settings{.level = "mixed", .seed = 3}));
  for (const std::string& text : held_out_texts(one)) EXPECT_TRUE(mixed.contains(text));
}

TEST(Arithmetic, holds_out_more_by_adding_to_less) {
  const ArithmeticEnvironment less(Settings{.level = "add3", .held_out = 100});
  const ArithmeticEnvironment more(Settings{.level = "add3", .held_out = 1000});
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(less.held_out(i), more.held_out(i));
}

TEST(Arithmetic, holds_out_at_most_half_of_a_small_level) {
  EXPECT_EQ(ArithmeticEnvironment(Settings{.level = "add1"}).held_out_count(), 50);
  EXPECT_EQ(ArithmeticEnvironment(Settings{.level = "mixed"}).held_out_count(), 50 * 3 + 500 * 2);
}

TEST(Arithmetic, makes_a_problem_from_seed_and_index_alone) {
  const ArithmeticEnvironment environment(Settings{.seed = 7});
  const ArithmeticEnvironment again(Settings{.seed = 7});
  const ArithmeticEnvironment other(Settings{.seed = 8});
  std::int64_t same = 0;
  for (std::int64_t i = 999; i >= 0; --i) {
    EXPECT_EQ(environment.make(i), again.make(i));
    same += environment.make(i).text == other.make(i).text ? 1 : 0;
  }
  EXPECT_LT(same, 5);
  EXPECT_THROW(static_cast<void>(environment.make(-1)), base::ContractViolation);
  EXPECT_THROW(static_cast<void>(environment.held_out(500)), base::ContractViolation);
}

TEST(Arithmetic, fills_a_prompt_completely) {
  const ArithmeticEnvironment environment(Settings{.level = "add2"});
  const auto prompt = environment.make(41);
  EXPECT_EQ(prompt.id.value(), 41);
  EXPECT_EQ(prompt.environment, "arithmetic");
  const auto metadata = nlohmann::json::parse(prompt.metadata);
  EXPECT_EQ(metadata["level"], "add2");
  const int problem = metadata["problem"];
  char text[16];
  std::snprintf(text, sizeof text, "%02d+%02d=", problem / 100, problem % 100);
  EXPECT_EQ(prompt.text, text);
  std::snprintf(text, sizeof text, "%03d", problem / 100 + problem % 100);
  EXPECT_EQ(prompt.label, text);
}

TEST(ProblemPart, writes_numbers_in_their_fixed_width) {
  const ProblemPart add(Operator::add, 2, 0);
  EXPECT_EQ(add.fixed_text(3785), "37+85=");
  EXPECT_EQ(add.fixed_answer(3785), "122");
  EXPECT_EQ(add.fixed_text(102), "01+02=");
  EXPECT_EQ(add.fixed_answer(102), "003");
  const ProblemPart sub(Operator::subtract, 2, 0);
  EXPECT_EQ(sub.fixed_answer(1099), "-89");
  EXPECT_EQ(sub.fixed_answer(308), "-05");
  EXPECT_EQ(sub.fixed_answer(9999), "000");
  const ProblemPart mul(Operator::multiply, 1, 0);
  EXPECT_EQ(mul.fixed_text(98), "9*8=");
  EXPECT_EQ(mul.fixed_answer(98), "72");
  EXPECT_EQ(mul.fixed_answer(12), "02");
  const ProblemPart large(Operator::multiply, 9, 0);
  EXPECT_EQ(large.fixed_answer(large.count() - 1), "999999998000000001");
  EXPECT_EQ(add.words_text(705), "What is 7 plus 5?\n");
  EXPECT_EQ(sub.words_answer(308), "-5");
}

TEST(ProblemPart, reads_its_kind_from_a_name) {
  ASSERT_TRUE(ProblemPart::parse("sub3"));
  EXPECT_EQ(ProblemPart::parse("sub3")->op, Operator::subtract);
  EXPECT_EQ(ProblemPart::parse("sub3")->digits, 3);
  for (const char* bad : {"", "add", "add0", "add10", "2add", "div2", "ADD2", "add2 "}) {
    EXPECT_FALSE(ProblemPart::parse(bad)) << bad;
  }
}

TEST(Arithmetic, rewards_the_label_and_nothing_else) {
  const ArithmeticEnvironment environment(Settings{});
  for (std::int64_t i = 0; i < 100; ++i) {
    const auto prompt = environment.make(i);
    EXPECT_EQ(environment.verify(prompt, prompt.label).reward, 1);
    for (const std::string& wrong :
         {std::string(), prompt.label + "0", " " + prompt.label, prompt.label + " ",
          prompt.label.substr(1), std::string("abc")}) {
      EXPECT_EQ(environment.verify(prompt, wrong).reward, 0) << wrong;
    }
  }
}

TEST(Arithmetic, takes_the_last_number_where_it_asks_in_words) {
  const ArithmeticEnvironment environment(
      Settings{.level = "sub2", .style = ArithmeticStyle::words});
  const auto prompt = environment.make(0);
  EXPECT_TRUE(prompt.text.starts_with("What is "));
  EXPECT_EQ(environment.verify(prompt, "The answer is " + prompt.label + ".").reward, 1);
  EXPECT_EQ(environment.verify(prompt, "It is " + prompt.label + ", not 7777.").reward, 0);
}

TEST(ArithmeticSource, gives_the_prompts_of_its_split) {
  const ArithmeticEnvironment environment(Settings{.held_out = 20});
  const auto train = environment.prompts(Split::train);
  const auto held_out = environment.prompts(Split::held_out);
  EXPECT_EQ(train->at(12), environment.make(12));
  EXPECT_EQ(train->at(train->size() - 1), environment.make(train->size() - 1));
  EXPECT_EQ(held_out->size(), 20);
  EXPECT_EQ(held_out->at(19), environment.held_out(19));
}

TEST(Arithmetic, refuses_levels_that_do_not_exist) {
  EXPECT_THROW(ArithmeticEnvironment(Settings{.level = "div2"}), base::UserError);
}

}  // namespace
}  // namespace physarum::environment
