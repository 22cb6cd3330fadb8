#include "run_directory.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

namespace physarum::app {
namespace {

class RunDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(base_); }
  void TearDown() override { std::filesystem::remove_all(base_); }
  std::filesystem::path base_ = std::filesystem::temp_directory_path() / "physarum-run-directory";
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

TEST_F(RunDirectoryTest, keeps_the_configuration) {
  (void)prepare_run_directory(base_ / "run");
  write_configuration(base_ / "run", "[run]\n");
  EXPECT_TRUE(std::filesystem::exists(base_ / "run/config.toml"));
}

}  // namespace
}  // namespace physarum::app
