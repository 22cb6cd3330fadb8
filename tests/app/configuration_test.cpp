#include "physarum/app/configuration.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "support/temporary_directory.hpp"

namespace physarum::app {
namespace {

std::string file_with(const std::string& text) {
  static const test::TemporaryDirectory directory;
  const auto path = directory / "configuration.toml";
  std::ofstream(path) << text;
  return path.string();
}

TEST(Configuration, flags_win_over_the_file_wherever_they_stand) {
  const auto path = file_with("[optimizer]\nlr = 0.5\n[run]\nseed = 3\n");
  for (const auto& arguments :
       {std::vector<std::string>{path, "--lr", "0.25"}, {"--lr", "0.25", path}}) {
    const auto configuration = read_configuration(arguments);
    EXPECT_EQ(configuration.training.optimiser.lr, 0.25);
    EXPECT_EQ(configuration.run.seed, 3);
  }
}

TEST(Configuration, its_resolved_form_reads_back_as_itself) {
  const auto first = read_configuration({"--lr", "0.125", "--mode", "async", "--rollout-top-k", "7",
                                         "--hf-checkpoint", "x", "--num-rollout", "5"});
  const auto second = read_configuration({file_with(to_toml(first))});
  EXPECT_EQ(to_toml(first), to_toml(second));
  EXPECT_EQ(second.rollout.top_k, 7);
}

TEST(Configuration, the_quickstart_files_are_valid) {
  for (const char* name : {"/quickstart_sft.toml", "/quickstart.toml"}) {
    const auto configuration = read_configuration({std::string(PHYSARUM_INPUTS) + name});
    EXPECT_NO_THROW(configuration.validate()) << name;
  }
}

TEST(Configuration, a_run_without_a_model_is_refused) {
  EXPECT_THROW(read_configuration({"--num-rollout", "1"}).validate(), base::UserError);
}

TEST(RunOptions, a_run_name_stays_inside_the_directory_of_runs) {
  RunOptions options;
  options.hf_checkpoint = "x";
  for (const char* bad : {"", "../x", "/etc", "a b", "a;b"}) {
    options.run_name = bad;
    EXPECT_THROW(options.validate(), base::UserError) << bad;
  }
  options.run_name = "study/seed-1.a_b";
  EXPECT_NO_THROW(options.validate());
}

}  // namespace
}  // namespace physarum::app
