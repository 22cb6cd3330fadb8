// Whatever step fails or is the last before a kill: the final name shows the old content or the
// new.

#include "physarum/storage/commit.hpp"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "physarum/base/error.hpp"

#include "storage/alone.hpp"
#include "support/scripted_file_system.hpp"
#include "support/temporary_directory.hpp"

namespace physarum::storage {
namespace {

using test::ScriptedFileSystem;
const Format committed_format{"physarum.test", 1};

void commit_value(FileSystem& files, const std::filesystem::path& path, std::int64_t value) {
  commit_file(files, path, alone, committed_format, [&](File& file) {
    file.write_concatenated<std::int64_t>("value", std::vector{value});
  });
}

std::int64_t committed_value(const std::filesystem::path& path) {
  return File::open_read(path, committed_format).read_dataset<std::int64_t>("value").at(0);
}

TEST(CommitFile, syncs_before_it_renames_and_the_directory_after) {
  const test::TemporaryDirectory directory;
  ScriptedFileSystem files;
  commit_value(files, directory / "runs/a.h5", 5);
  EXPECT_EQ(files.steps(), (std::vector<std::string>{
                               "make_directories runs", "remove a.h5.tmp", "sync_file a.h5.tmp",
                               "rename a.h5.tmp -> a.h5", "sync_directory runs"}));
  EXPECT_EQ(committed_value(directory / "runs/a.h5"), 5);
}

TEST(CommitFile, leaves_old_or_new_whichever_step_fails) {
  for (const auto fault : {ScriptedFileSystem::Fault::refuse, ScriptedFileSystem::Fault::die}) {
    for (int step = 0; step < 5; ++step) {
      const test::TemporaryDirectory directory;
      ScriptedFileSystem files;
      commit_value(files, directory / "a.h5", 1);
      files.fail_at(step, fault);
      EXPECT_THROW(commit_value(files, directory / "a.h5", 2), base::WorldError);
      EXPECT_TRUE(files.fired()) << step;
      EXPECT_EQ(committed_value(directory / "a.h5"), step < 4 ? 1 : 2) << step;
      files.fail_at(-1);
      commit_value(files, directory / "a.h5", 3);  // and what was left behind is no obstacle
      EXPECT_EQ(committed_value(directory / "a.h5"), 3);
      EXPECT_EQ(files.list(directory.path()), std::vector<std::string>{"a.h5"});
    }
  }
}

TEST(CommitFile, removes_the_temporary_file_when_writing_fails) {
  const test::TemporaryDirectory directory;
  EXPECT_THROW(commit_file(real_file_system(), directory / "a.h5", alone, committed_format,
                           [](File&) { throw base::UserError("no", "", ""); }),
               base::UserError);
  EXPECT_TRUE(real_file_system().list(directory.path()).empty());
}

TEST(CommitFile, survives_a_full_disk) {
  // A limit on file sizes stands in for a full disk: writes fail in the middle of the dataset.
  const test::TemporaryDirectory directory;
  commit_value(real_file_system(), directory / "a.h5", 1);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  for (const rlim_t limit : {rlim_t{1000}, rlim_t{100'000}, rlim_t{4'000'000}}) {
    for (const auto layout : {DatasetLayout::contiguous, DatasetLayout::checked}) {
      rlimit small = before;
      small.rlim_cur = limit;
      setrlimit(RLIMIT_FSIZE, &small);
      EXPECT_THROW(commit_file(real_file_system(), directory / "a.h5", alone, committed_format,
                               [&](File& file) {
                                 file.write_concatenated<float>(
                                     "big", std::vector<float>(2'000'000), {.layout = layout});
                               }),
                   base::WorldError);
      setrlimit(RLIMIT_FSIZE, &before);
      EXPECT_EQ(committed_value(directory / "a.h5"), 1);
      EXPECT_EQ(real_file_system().list(directory.path()), std::vector<std::string>{"a.h5"});
    }
  }
}

TEST(CommitFile, names_temporary_files) {
  EXPECT_EQ(temporary_path("x/a.h5"), "x/a.h5.tmp");
  EXPECT_TRUE(is_temporary("x/a.h5.tmp"));
  EXPECT_FALSE(is_temporary("x/a.h5"));
}

TEST(CommitText, leaves_old_or_new_whichever_step_fails) {
  for (int step = 0; step < 5; ++step) {
    const test::TemporaryDirectory directory;
    ScriptedFileSystem files;
    commit_text(files, directory / "latest", "old");
    files.fail_at(step);
    EXPECT_THROW(commit_text(files, directory / "latest", "new"), base::WorldError);
    EXPECT_TRUE(files.fired()) << step;
    EXPECT_EQ(files.read_file(directory / "latest"), step < 4 ? "old" : "new") << step;
    EXPECT_EQ(files.list(directory.path()), std::vector<std::string>{"latest"});
  }
}

TEST(CommitDirectory, appears_under_its_name_at_once) {
  const test::TemporaryDirectory directory;
  ScriptedFileSystem files;
  files.make_directories(directory / "step-1.tmp");
  files.write_file(directory / "step-1.tmp/a", "x");
  files.fail_at(-1);
  commit_directory(files, directory / "step-1.tmp", directory / "step-1");
  EXPECT_EQ(files.steps().at(1), "rename step-1.tmp -> step-1");
  EXPECT_EQ(files.list(directory / "step-1"), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace physarum::storage
