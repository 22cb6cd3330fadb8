#include "slurm_script.hpp"

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

namespace physarum::app {
namespace {

SlurmRequest request() {
  return {.run_name = "sums",
          .layout = "5 ranks: buffer 0, trainer 1-2, rollout 3-4",
          .arguments = {"inputs/quickstart.toml", "--seed", "7"},
          .ranks = 5,
          .buffer = {.ranks = 1, .memory_mb = 30},
          .trainer = {.ranks = 2, .memory_mb = 100},
          .rollout = {.ranks = 2, .memory_mb = 1000}};
}

bool has_line(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

TEST(SlurmScript, asks_for_what_the_largest_rank_needs) {
  const auto text = slurm_script(request());
  EXPECT_TRUE(text.starts_with("#!/usr/bin/env bash\n"));
  // 1.25 * 1000 + 512, in steps of 128.
  EXPECT_TRUE(has_line(text, "#SBATCH --ntasks=5 --cpus-per-task=1 --mem-per-cpu=1792M"));
  EXPECT_TRUE(has_line(text, "#SBATCH --signal=B:USR1@300"));
  EXPECT_TRUE(has_line(text, "#SBATCH --open-mode=append"));
  EXPECT_TRUE(has_line(text, "#SBATCH --requeue"));
  EXPECT_TRUE(has_line(text, "# Run sums: 5 ranks: buffer 0, trainer 1-2, rollout 3-4."));
  EXPECT_EQ(text.find("hetjob"), std::string::npos);
}

TEST(SlurmScript, has_a_note_about_the_memory_if_there_is_one) {
  auto noted = request();
  noted.memory_note = "of this\nmachine";
  EXPECT_TRUE(has_line(slurm_script(noted), "# of this machine"));
}

TEST(SlurmScript, gives_a_colocated_rank_the_memory_of_all_its_roles) {
  auto both = request();
  both.ranks = 2;
  // 1.25 * 1130 + 512.
  EXPECT_TRUE(
      has_line(slurm_script(both), "#SBATCH --ntasks=2 --cpus-per-task=1 --mem-per-cpu=2048M"));
}

TEST(SlurmScript, gives_each_thread_a_core_and_its_share_of_the_memory) {
  auto threaded = request();
  threaded.rollout.threads = 4;
  EXPECT_TRUE(
      has_line(slurm_script(threaded), "#SBATCH --ntasks=5 --cpus-per-task=4 --mem-per-cpu=512M"));
  threaded.form = SlurmForm::components;
  const auto text = slurm_script(threaded);
  EXPECT_NE(text.find("--ntasks=2 --cpus-per-task=1 --mem-per-cpu=640M"), std::string::npos);
  EXPECT_NE(text.find("--ntasks=2 --cpus-per-task=4 --mem-per-cpu=512M"), std::string::npos);
}

TEST(SlurmScript, makes_a_component_of_each_group_in_the_order_of_the_ranks) {
  auto three = request();
  three.form = SlurmForm::components;
  const auto text = slurm_script(three);
  const auto buffer = text.find("--ntasks=1 --cpus-per-task=1 --mem-per-cpu=640M");
  const auto trainer = text.find("--ntasks=2 --cpus-per-task=1 --mem-per-cpu=640M");
  const auto rollout = text.find("--ntasks=2 --cpus-per-task=1 --mem-per-cpu=1792M");
  ASSERT_NE(rollout, std::string::npos);
  EXPECT_LT(buffer, text.find("#SBATCH hetjob"));
  EXPECT_LT(text.find("#SBATCH hetjob"), trainer);
  EXPECT_LT(trainer, text.rfind("#SBATCH hetjob"));
  EXPECT_LT(text.rfind("#SBATCH hetjob"), rollout);
  // Slurm hands neither on from one component to the next.
  std::size_t limits = 0;
  for (auto at = text.find("--time="); at != std::string::npos; at = text.find("--time=", at + 1)) {
    ++limits;
  }
  EXPECT_EQ(limits, 3U);
}

TEST(SlurmScript, hands_arguments_to_the_shell_unchanged) {
  EXPECT_TRUE(
      slurm_script(request()).ends_with("\ntrain_job inputs/quickstart.toml --seed 7 \"$@\"\n"));
  auto odd = request();
  odd.arguments = {"my runs/a.toml", "--run-name", "it's $HOME", ""};
  EXPECT_TRUE(slurm_script(odd).ends_with(
      "\ntrain_job 'my runs/a.toml' --run-name 'it'\\''s $HOME' '' \"$@\"\n"));
}

TEST(SlurmScript, keeps_odd_names_out_of_its_own_lines) {
  auto odd = request();
  odd.run_name = "a b\n#SBATCH --ntasks=99";
  odd.layout = "two\nlines";
  const auto text = slurm_script(odd);
  EXPECT_TRUE(has_line(text, "#SBATCH --job-name=a-b--SBATCH---ntasks=99"));
  EXPECT_EQ(text.find("\nlines"), std::string::npos);
}

TEST(SlurmScript, refuses_components_of_colocated_ranks) {
  auto both = request();
  both.ranks = 2;
  both.form = SlurmForm::components;
  EXPECT_THROW((void)slurm_script(both), base::UserError);
}

}  // namespace
}  // namespace physarum::app
