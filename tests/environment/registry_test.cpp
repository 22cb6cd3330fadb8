#include "physarum/environment/registry.hpp"

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"
#include "physarum/base/options.hpp"

#include "physarum/environment/label_environment.hpp"

namespace physarum::environment {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const base::UserError& error) {
    return error.what();
  }
  return "no error";
}

sample::Prompt prompt(const std::string& environment, const std::string& label) {
  sample::Prompt made;
  made.text = "question";
  made.label = label;
  made.environment = environment;
  return made;
}

TEST(EnvironmentRegistry, judges_by_the_environment_that_the_prompt_names) {
  EnvironmentOptions options;
  options.environment = "last_number";
  const auto registry = make_environments(options, 1);
  EXPECT_EQ(registry.verify(prompt("exact_match", "5"), "= 5").reward, 0);
  EXPECT_EQ(registry.verify(prompt("last_number", "5"), "= 5").reward, 1);
  EXPECT_EQ(registry.verify(prompt("", "5"), "= 5").reward, 1);
  EXPECT_EQ(registry.fallback().name(), "last_number");
  EXPECT_EQ(registry.find("arithmetic").name(), "arithmetic");
  EXPECT_EQ(registry.find("exact_match").prompts(Split::train), nullptr);
  EXPECT_NE(registry.find("arithmetic").prompts(Split::train), nullptr);
}

TEST(EnvironmentRegistry, names_the_nearest_one_if_there_is_none) {
  const auto registry = make_environments({}, 1);
  EXPECT_NE(
      message_of([&] { static_cast<void>(registry.find("exact_mach")); }).find("'exact_match'?"),
      std::string::npos);
  EXPECT_NE(message_of([&] { static_cast<void>(registry.find("zzzz")); }).find("known: arithmetic"),
            std::string::npos);
}

TEST(EnvironmentRegistry, takes_each_name_once) {
  EnvironmentRegistry registry("exact_match");
  registry.add(std::make_unique<LabelEnvironment>(LabelRule::exact_match));
  EXPECT_THROW(registry.add(std::make_unique<LabelEnvironment>(LabelRule::exact_match)),
               base::ContractViolation);
}

TEST(EnvironmentOptions, each_flag_has_its_effect) {
  base::OptionTable table;
  EnvironmentOptions options;
  declare_options(table, options);
  static_cast<void>(base::read_arguments(
      {"--env", "arithmetic", "--env-level", "sub3", "--env-held-out", "7", "--env-style", "words"},
      table));
  options.validate();
  const auto registry = make_environments(options, 1);
  const auto held_out = registry.fallback().prompts(Split::held_out);
  EXPECT_EQ(held_out->size(), 7);
  EXPECT_NE(held_out->at(0).text.find("minus"), std::string::npos);
}

TEST(EnvironmentOptions, refuses_values_out_of_range_by_the_name_of_the_flag) {
  const auto message = [](const std::function<void(EnvironmentOptions&)>& change) {
    EnvironmentOptions options;
    change(options);
    return message_of([&] { options.validate(); });
  };
  EXPECT_EQ(message([](EnvironmentOptions&) {}), "no error");
  EXPECT_TRUE(message([](auto& o) { o.level = "add0"; }).starts_with("--env-level: "));
  EXPECT_TRUE(message([](auto& o) { o.held_out = 0; }).starts_with("--env-held-out: "));
  EXPECT_TRUE(message([](auto& o) { o.held_out = 1000001; }).starts_with("--env-held-out: "));
  EXPECT_TRUE(message([](auto& o) { o.environment = "chess"; }).starts_with("--env: "));
}

TEST(JsonlKeys, are_set_by_their_flags) {
  base::OptionTable table;
  JsonlKeys keys;
  declare_options(table, keys);
  static_cast<void>(
      base::read_arguments({"--input-key", "q", "--label-key", "a", "--metadata-key", "m"}, table));
  EXPECT_EQ(keys.input, "q");
  EXPECT_EQ(keys.label, "a");
  EXPECT_EQ(keys.metadata, "m");
  keys.input.clear();
  EXPECT_TRUE(message_of([&] { keys.validate(); }).starts_with("--input-key: "));
}

}  // namespace
}  // namespace physarum::environment
