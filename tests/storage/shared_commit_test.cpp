#include <csignal>

#include <sys/resource.h>

#include "physarum/base/error.hpp"

#include "physarum/parallel/agree.hpp"

#include "physarum/storage/commit.hpp"

#include "support/mpi_test.hpp"
#include "support/scripted_file_system.hpp"
#include "support/shared_directory.hpp"

namespace physarum::storage {
namespace {

using test::ScriptedFileSystem;
using test::world;
const Format committed_format{"physarum.test", 1};

void commit_value(FileSystem& files, const std::filesystem::path& path, std::int64_t value) {
  commit_file(files, path, world(), committed_format, [&](File& file) {
    file.write_concatenated<std::int64_t>("value", std::vector{value});
  });
}
std::int64_t committed_value(const std::filesystem::path& path) {
  const File file = File::open_read(path, committed_format, world());
  const auto value = file.read_dataset<std::int64_t>("value").at(0);
  world().barrier();
  return value;
}

TEST(SharedCommit, leaves_old_or_new_whichever_step_fails) {
  for (int step = 0; step < 5; ++step) {
    const test::SharedDirectory directory(world());
    ScriptedFileSystem files;
    commit_value(files, directory / "a.h5", 1);
    files.fail_at(step);  // only rank 0 uses it; all ranks throw
    EXPECT_THROW(commit_value(files, directory / "a.h5", 2), base::WorldError);
    EXPECT_EQ(files.fired(), world().rank() == 0);
    EXPECT_EQ(committed_value(directory / "a.h5"), step < 4 ? 1 : 2) << step;
  }
}

TEST(SharedCommit, all_ranks_throw_what_one_rank_found) {
  const test::SharedDirectory directory(world());
  const auto write = [&] {
    commit_file(real_file_system(), directory / "a.h5", world(), committed_format, [&](File&) {
      parallel::together(world(), [&] {
        if (world().rank() == world().size() - 1) throw base::UserError("bad prompt", "x:1", "");
      });
    });
  };
  EXPECT_THROW(write(), base::UserError);
  world().barrier();
  EXPECT_TRUE(real_file_system().list(directory.path()).empty());
  world().barrier();
}

TEST(SharedCommit, survives_a_full_disk_on_any_rank) {
  // A limit on file sizes on one rank stands in for a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  for (int victim = 0; victim < world().size(); ++victim) {
    const test::SharedDirectory directory(world());
    commit_value(real_file_system(), directory / "a.h5", 1);
    rlimit small = before;
    small.rlim_cur = 100'000;
    if (world().rank() == victim) setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_THROW(commit_file(real_file_system(), directory / "a.h5", world(), committed_format,
                             [&](File& file) {
                               file.write_concatenated<float>("big", std::vector<float>(300'000));
                             }),
                 base::WorldError);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(committed_value(directory / "a.h5"), 1);
    EXPECT_EQ(real_file_system().list(directory.path()), std::vector<std::string>{"a.h5"});
    world().barrier();
  }
}

}  // namespace
}  // namespace physarum::storage
