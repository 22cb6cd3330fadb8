#include "physarum/app/data_options.hpp"

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

namespace physarum::app {
namespace {

DataOptions reading(const std::string& list) {
  DataOptions options;
  base::OptionTable table;
  declare_options(table, options);
  EXPECT_TRUE(base::read_arguments({"--eval-prompt-data", list}, table).empty());
  return options;
}

std::vector<std::pair<std::string, std::string>> files_in(const std::string& list) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& file : evaluation_files(reading(list), "only"))
    files.emplace_back(file.name, file.path);
  return files;
}

using Files = std::vector<std::pair<std::string, std::string>>;

TEST(DataOptions, a_set_of_prompts_has_the_name_that_it_is_given) {
  EXPECT_EQ(files_in("a=x/1.h5,b=2.jsonl"), (Files{{"a", "x/1.h5"}, {"b", "2.jsonl"}}));
  EXPECT_EQ(files_in("x/one.h5,two.jsonl"), (Files{{"one", "x/one.h5"}, {"two", "two.jsonl"}}));
  EXPECT_EQ(files_in("x/one.h5"), (Files{{"only", "x/one.h5"}}));
  // A '=' in a path that names nothing.
  EXPECT_EQ(files_in("runs/lr=1/p.h5"), (Files{{"only", "runs/lr=1/p.h5"}}));
  EXPECT_TRUE(evaluation_files({}, "only").empty());
}

TEST(DataOptions, sets_that_cannot_be_told_apart_are_refused) {
  for (const char* list : {"a=1.h5,a=2.h5", "x/one.h5,y/one.jsonl", "a=", "x/a;b.h5,c.h5"})
    EXPECT_THROW(reading(list).validate(), base::UserError) << list;
}

}  // namespace
}  // namespace physarum::app
