#include "summary.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace physarum::app {
namespace {

TEST(Summary, is_one_flat_json_object_with_a_key_a_line) {
  Summary summary;
  summary.set("command", "train");
  summary.set("ranks", 4);
  summary.set("seconds", 1.5);
  summary.set_all({{"train/loss", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_EQ(summary.to_json(),
            "{\n  \"command\": \"train\",\n  \"ranks\": 4,\n  \"seconds\": 1.5,\n"
            "  \"train/loss\": null\n}\n");
}

TEST(Summary, the_last_value_of_a_key_counts) {
  Summary summary;
  summary.set("exit", 3);
  summary.set("exit", 0);
  EXPECT_EQ(summary.to_json(), "{\n  \"exit\": 0\n}\n");
}

}  // namespace
}  // namespace physarum::app
