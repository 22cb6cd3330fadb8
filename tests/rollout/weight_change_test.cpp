// What an engine remembers of a change of weights, and how much memory that takes at most.
#include "weight_change.hpp"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "physarum/rollout/options.hpp"

namespace physarum::rollout {
namespace {

constexpr std::int64_t table_rows = 100;
constexpr std::int64_t table_columns = 96;

/// Whether a change of so many elements is remembered; what is set must be the image.
bool remembers(std::int64_t differences) {
  const auto catalogue = weights::make_catalogue({{"table", {table_rows, table_columns}}},
                                                 weights::TransferType::bf16);
  weights::Image image(catalogue);
  for (std::int64_t i = 0; i < differences; ++i)
    image.bytes()[static_cast<std::size_t>(i) * 2] = std::byte{1};
  image.set_version(base::WeightVersion(1));
  EngineParameter::Table table(static_cast<std::size_t>(table_rows * table_columns) * 2);
  const EngineParameter part(0, table_rows, table_columns, &table);
  WeightChange change;
  while (!change.find({&part, 1}, base::WeightVersion(0), image, 1000)) {
  }
  const bool known = change.set({&part, 1}, base::WeightVersion(0), image);
  EXPECT_EQ(std::equal(table.begin(), table.end(), image.bytes().begin()), known);
  return known;
}

TEST(WeightChange, remembers_no_more_than_its_memory_holds) {
  const std::int64_t elements = table_rows * table_columns;
  const auto held = weight_change_bytes(elements) / static_cast<std::int64_t>(sizeof(KeptElement));
  EXPECT_TRUE(remembers(1));
  EXPECT_TRUE(remembers(held - 1));  // one more tells that there are too many
  EXPECT_FALSE(remembers(held));
  EXPECT_FALSE(remembers(elements));
}

}  // namespace
}  // namespace physarum::rollout
