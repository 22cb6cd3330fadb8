#include "physarum/base/metrics.hpp"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "physarum/base/error.hpp"

namespace physarum::base {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::filesystem::path fresh(const char* name) {
  const auto directory =
      std::filesystem::temp_directory_path() / (std::to_string(::getpid()) + name);
  std::filesystem::remove_all(directory);
  return directory;
}

// The check value of CRC-32C in the catalogue of parametrised CRC algorithms.
TEST(Crc32c, gives_the_catalogue_check_value) { EXPECT_EQ(crc32c("123456789"), 0xE3069283U); }

TEST(MetricsWriter, writes_a_line_per_step_and_keeps_the_last_values) {
  const auto directory = fresh("physarum-metrics-test");
  MetricsWriter writer(directory);
  writer.write(1, {{"train/loss", 0.5}, {"train/lr", 1e-4}});
  writer.write(2, {{"train/loss", std::numeric_limits<double>::quiet_NaN()}});
  const auto text = contents(directory / "metrics.jsonl");
  EXPECT_NE(text.find("{\"step\": 1, "), std::string::npos);
  EXPECT_NE(text.find("\"train/loss\": 0.5, \"train/lr\": 1e-04}\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\"train/loss\": null}\n"), std::string::npos) << text;
  EXPECT_EQ(writer.last().at("train/lr"), 1e-4);
  EXPECT_TRUE(std::isnan(writer.last().at("train/loss")));
}

TEST(MetricsWriter, goes_on_where_a_checkpoint_stood) {
  const auto directory = fresh("physarum-metrics-resume-test");
  std::uint64_t bytes = 0;
  {
    MetricsWriter writer(directory);
    writer.write(1, {{"train/loss", 0.5}});
    bytes = writer.synced_bytes();
    writer.write(2, {{"train/loss", 0.4}});  // made again by the run that goes on
  }
  const auto kept = contents(directory / "metrics.jsonl").substr(0, bytes);
  MetricsWriter writer(directory, bytes, 2);
  writer.set_last({{"train/loss", 0.5}});
  EXPECT_EQ(contents(directory / "metrics.jsonl"), kept);
  EXPECT_EQ(writer.last().at("train/loss"), 0.5);
  writer.write(2, {{"train/loss", 0.25}});
  const auto text = contents(directory / "metrics.jsonl");
  EXPECT_EQ(text.substr(0, bytes), kept);
  EXPECT_NE(text.find("\"train/loss\": 0.25}"), std::string::npos);
  EXPECT_EQ(text.find("\"train/loss\": 0.4"), std::string::npos);
}

TEST(MetricsWriter, frames_events_as_tensorboard_reads_them) {
  const auto directory = fresh("physarum-events-test");
  { MetricsWriter(directory).write(7, {{"a", 1.0}}); }
  std::string bytes;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) {
      bytes = contents(entry.path());
    }
  }
  int records = 0;
  for (std::size_t at = 0; at < bytes.size(); ++records) {
    std::uint64_t length = 0;
    ASSERT_LE(at + 12, bytes.size());
    std::memcpy(&length, bytes.data() + at, 8);
    std::uint32_t stored = 0;
    std::memcpy(&stored, bytes.data() + at + 12 + length, 4);
    const std::uint32_t crc = crc32c(std::string_view(bytes).substr(at + 12, length));
    EXPECT_EQ(stored, ((crc >> 15) | (crc << 17)) + 0xA282EAD8U);
    at += 16 + length;
  }
  EXPECT_EQ(records, 2);
}

TEST(MetricsWriter, an_unwritable_directory_is_the_users_error) {
  EXPECT_THROW(MetricsWriter("/proc/nowhere"), UserError);
}

TEST(Json, numbers_and_strings_are_valid_json) {
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(json_number(INFINITY), "null");
  EXPECT_EQ(json_string("a\"b\\\n"), "\"a\\\"b\\\\\\u000a\"");
}

}  // namespace
}  // namespace physarum::base
