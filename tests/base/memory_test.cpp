#include "physarum/base/memory.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "support/temporary_directory.hpp"

namespace physarum::base {
namespace {

namespace fs = std::filesystem;

/// A /proc and a /sys/fs/cgroup of our own.
class Memory : public testing::Test {
 protected:
  Memory() { write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n"); }
  void write(const std::string& name, const std::string& text) const {
    const auto path = directory_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] std::int64_t usable() const {
    return usable_memory_bytes({directory_.path() / "proc", directory_.path() / "cgroup"});
  }
  test::TemporaryDirectory directory_;
};

TEST_F(Memory, is_what_the_kernel_calls_available) { EXPECT_EQ(usable(), 8000 * 1024); }

TEST_F(Memory, is_bounded_by_every_control_group_above) {
  write("proc/self/cgroup", "0::/job/step\n");
  write("cgroup/job/step/memory.max", "max\n");
  EXPECT_EQ(usable(), 8000 * 1024);
  write("cgroup/job/memory.max", "3000000\n");
  EXPECT_EQ(usable(), 3000000);
  write("cgroup/job/step/memory.max", "2000000\n");
  EXPECT_EQ(usable(), 2000000);
  write("cgroup/memory.max", "1000000\n");
  EXPECT_EQ(usable(), 1000000);
}

TEST_F(Memory, is_bounded_by_groups_of_the_first_version) {
  write("proc/self/cgroup", "7:cpuset,memoryless:/other\n4:cpu,memory:/slurm/job_1\n");
  write("cgroup/memory/other/memory.limit_in_bytes", "1\n");
  write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(usable(), 8000 * 1024);
  write("cgroup/memory/slurm/memory.limit_in_bytes", "5000000\n");
  EXPECT_EQ(usable(), 5000000);
}

TEST_F(Memory, of_this_machine_is_known) { EXPECT_GT(usable_memory_bytes(), 1 << 20); }

TEST_F(Memory, that_the_kernel_does_not_tell_is_an_error) {
  write("proc/meminfo", "MemTotal: 9000 kB\n");
  EXPECT_THROW((void)usable(), UserError);
}

}  // namespace
}  // namespace physarum::base
