#include "run_directory.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "support/temporary_directory.hpp"

namespace physarum::app {
namespace {

class RunDirectoryTest : public ::testing::Test {
 protected:
  const test::TemporaryDirectory base_;
};

TEST_F(RunDirectoryTest, an_earlier_run_is_kept_under_another_name) {
  const auto directory = base_ / "run";
  EXPECT_FALSE(prepare_run_directory(directory).has_value());
  std::ofstream(directory / "metrics.jsonl") << "one\n";
  EXPECT_EQ(prepare_run_directory(directory), base_ / "run.1");
  EXPECT_TRUE(std::filesystem::exists(base_ / "run.1/metrics.jsonl"));
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::ofstream(directory / "summary.json") << "{}";
  EXPECT_EQ(prepare_run_directory(directory), base_ / "run.2");
}

TEST_F(RunDirectoryTest, a_directory_without_a_run_is_used_as_it_is) {
  std::filesystem::create_directories(base_ / "run/model");
  EXPECT_FALSE(prepare_run_directory(base_ / "run").has_value());
  EXPECT_TRUE(std::filesystem::exists(base_ / "run/model"));
}

TEST_F(RunDirectoryTest, one_that_cannot_be_written_is_the_users_error) {
  EXPECT_THROW((void)prepare_run_directory("/proc/nowhere"), base::UserError);
}

TEST(SaveDirectory, may_lie_in_the_run_whatever_its_name) {
  RunOptions options;
  options.run_name = "study/a";
  EXPECT_EQ(save_directory(options), "");
  options.save_hf = "{run}/model";
  EXPECT_EQ(save_directory(options), "runs/study/a/model");
  options.save_hf = "elsewhere";
  EXPECT_EQ(save_directory(options), "elsewhere");
}

TEST_F(RunDirectoryTest, later_outputs_of_an_interrupted_run_are_set_aside) {
  const auto samples = base_ / "run/samples";
  std::filesystem::create_directories(samples);
  for (const char* name :
       {"samples_3.h5", "samples_4.h5", "samples_10.h5", "eval_0.h5", "eval_4.h5", "eval_5.h5",
        "notes.txt", "samples_x.h5", "samples_4.h5.tmp", "samples_3.jsonl", "samples_4.jsonl"}) {
    std::ofstream(samples / name) << name;
  }
  // Steps 0 to 3 are done; version 4 has been evaluated, or not.
  set_aside_later_outputs(base_ / "run", 4, {});
  EXPECT_TRUE(std::filesystem::exists(samples / "samples_3.h5"));
  EXPECT_TRUE(std::filesystem::exists(samples / "samples_3.jsonl"));
  EXPECT_TRUE(std::filesystem::exists(samples / "eval_4.h5"));
  for (const char* name : {"samples_4.h5", "samples_4.jsonl", "samples_10.h5", "eval_5.h5"}) {
    EXPECT_FALSE(std::filesystem::exists(samples / name)) << name;
    EXPECT_TRUE(std::filesystem::exists(base_ / "run/superseded/run.1" / name)) << name;
  }
  for (const char* name : {"notes.txt", "samples_x.h5"})
    EXPECT_TRUE(std::filesystem::exists(samples / name)) << name;
  set_aside_later_outputs(base_ / "run", 4, {4});
  EXPECT_TRUE(std::filesystem::exists(base_ / "run/superseded/run.2/eval_4.h5"));
  EXPECT_TRUE(std::filesystem::exists(samples / "eval_0.h5"));
}

TEST_F(RunDirectoryTest, a_run_is_known_by_its_id) {
  EXPECT_EQ(read_run_id(base_ / "run"), "");
  write_run_id(base_ / "run", "a");
  EXPECT_EQ(read_run_id(base_ / "run"), "a");
  EXPECT_NE(new_run_id(), new_run_id());
}

TEST_F(RunDirectoryTest, keeps_the_configuration) {
  (void)prepare_run_directory(base_ / "run");
  write_configuration(base_ / "run", "[run]\n");
  EXPECT_TRUE(std::filesystem::exists(base_ / "run/config.toml"));
}

}  // namespace
}  // namespace physarum::app
