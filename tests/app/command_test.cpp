#include "command.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "help.hpp"

namespace physarum::app {
namespace {

TEST(Command, names_are_different_and_all_stand_in_the_usage) {
  std::set<std::string> names;
  for (const auto& command : commands()) {
    EXPECT_TRUE(names.insert(command.name).second);
    EXPECT_NE(usage_text().find(command.name), std::string::npos);
    EXPECT_NE(command_text(command).find(std::string("physarum ") + command.name),
              std::string::npos);
  }
  EXPECT_TRUE(names.contains("train"));
}

TEST(Help, lists_every_flag_with_its_default) {
  const auto text = options_markdown();
  EXPECT_NE(text.find("`--rollout-batch-size` | integer | 32 |"), std::string::npos);
  EXPECT_NE(text.find("sync\\|one_step_async\\|async"), std::string::npos);
  EXPECT_NE(text.find("`--input-key`"), std::string::npos);
}

}  // namespace
}  // namespace physarum::app
