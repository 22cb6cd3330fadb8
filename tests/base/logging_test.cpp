#include "physarum/base/logging.hpp"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "physarum/base/error.hpp"

namespace physarum::base {
namespace {

TEST(Logging, writes_a_file_per_rank_with_rank_and_role) {
  const auto directory = std::filesystem::temp_directory_path() /
                         ("physarum-logging-test-" + std::to_string(::getpid()));
  std::filesystem::remove_all(directory);
  start_logging({.rank = 3, .role = "trainer", .directory = directory});
  log_info("hello");
  log_debug("details");
  stop_logging();
  stop_logging();
  std::ifstream file(directory / "rank-3.log");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("[3 trainer] info: hello"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("debug: details"), std::string::npos);
}

TEST(Logging, a_directory_that_cannot_be_written_is_the_users_error) {
  EXPECT_THROW(start_logging({.rank = 1, .role = "x", .directory = "/proc/nowhere"}), UserError);
}

}  // namespace
}  // namespace physarum::base
