#include "physarum/storage/file_system.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "physarum/base/error.hpp"

#include "support/temporary_directory.hpp"

namespace physarum::storage {
namespace {

TEST(FileSystem, writes_reads_and_renames) {
  const test::TemporaryDirectory directory;
  auto& files = real_file_system();
  files.write_file(directory / "a", "one");
  files.write_file(directory / "a", "two\0x");
  EXPECT_EQ(files.read_file(directory / "a"), "two");
  files.sync_file(directory / "a");
  files.rename(directory / "a", directory / "b");
  files.sync_directory(directory.path());
  EXPECT_FALSE(files.exists(directory / "a"));
  EXPECT_TRUE(files.exists(directory / "b"));
  EXPECT_EQ(files.file_bytes(directory / "b"), 3u);
  files.truncate(directory / "b", 0);
  EXPECT_EQ(files.read_file(directory / "b"), "");
}

TEST(FileSystem, lists_makes_and_removes) {
  const test::TemporaryDirectory directory;
  auto& files = real_file_system();
  files.make_directories(directory / "x/y");
  files.make_directories(directory / "x/y");
  files.write_file(directory / "x/2", "");
  files.write_file(directory / "x/1", "");
  EXPECT_EQ(files.list(directory / "x"), (std::vector<std::string>{"1", "2", "y"}));
  EXPECT_TRUE(files.list(directory / "none").empty());
  files.remove(directory / "x/1");
  files.remove(directory / "x/1");
  EXPECT_THROW(files.remove(directory / "x"), base::WorldError);  // not empty
  files.remove_tree(directory / "x");
  files.remove_tree(directory / "x");
  EXPECT_FALSE(files.exists(directory / "x"));
  EXPECT_GT(files.free_bytes(directory.path()), 0u);
}

TEST(FileSystem, says_which_call_on_which_path_failed) {
  const test::TemporaryDirectory directory;
  try {
    real_file_system().rename(directory / "none", directory / "b");
    FAIL();
  } catch (const base::WorldError& error) {
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_NE(std::string(error.what()).find("rename on"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("none"), std::string::npos);
  }
  EXPECT_THROW((void)real_file_system().read_file(directory / "none"), base::WorldError);
}

TEST(FileSystem, a_place_that_cannot_hold_directories_is_the_users_to_change) {
  const test::TemporaryDirectory directory;
  real_file_system().write_file(directory / "file", "");
  EXPECT_THROW(real_file_system().make_directories(directory / "file/x"), base::UserError);
}

}  // namespace
}  // namespace physarum::storage
