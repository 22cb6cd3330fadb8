#include "physarum/storage/file.hpp"

#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "storage/alone.hpp"
#include "support/temporary_directory.hpp"

namespace physarum::storage {
namespace {

const Format format{"physarum.test", 3};

template <class T>
class Elements : public testing::Test {};
using AllElements =
    testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                   std::uint32_t, std::int64_t, std::uint64_t, float, double, std::byte>;
TYPED_TEST_SUITE(Elements, AllElements);

TYPED_TEST(Elements, come_back_as_they_were_written) {
  const test::TemporaryDirectory directory;
  std::vector<TypeParam> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<TypeParam>(i * 7);
  for (const auto layout : {DatasetLayout::contiguous, DatasetLayout::checked}) {
    File file = File::create(directory / "a.h5", alone, format);
    file.write_dataset<TypeParam>("group/values", {100, 10}, 0, values,
                                  {.layout = layout, .chunk_bytes = 256});
    file.close();
    const File back = File::open_read(directory / "a.h5", format);
    EXPECT_EQ(back.read_dataset<TypeParam>("group/values", Extent{100, File::any_size}), values);
    const auto info = back.info("group/values");
    EXPECT_EQ(info.element, element_of<TypeParam>());
    EXPECT_EQ(info.extent, (Extent{100, 10}));
    EXPECT_EQ(info.bytes, values.size() * sizeof(TypeParam));
    EXPECT_TRUE(info.has_digest);
    std::vector<TypeParam> rows(30);
    back.read_rows<TypeParam>("group/values", 97, rows);
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), values.begin() + 970));
  }
}

TEST(File, says_its_format) {
  const test::TemporaryDirectory directory;
  File::create(directory / "a.h5", alone, format).close();
  const File file = File::open_any(directory / "a.h5");
  EXPECT_EQ(file.format().name, "physarum.test");
  EXPECT_EQ(file.format().version, 3);
}

TEST(File, holds_attributes_of_root_groups_and_datasets) {
  const test::TemporaryDirectory directory;
  File file = File::create(directory / "a.h5", alone, format);
  file.create_group("one/two");
  file.write_dataset<float>("one/values", {1}, 0, std::vector<float>{1});
  file.set_attribute("", "text", "Grüße, slime");
  file.set_attribute("one", "empty", "");
  file.set_attribute("one/two", "step", std::int64_t{1} << 60);
  file.set_attribute("one/values", "scale", 0.1);
  file.set_attribute("one/values", "scale", 0.2);  // the last one counts
  file.close();
  const File back = File::open_read(directory / "a.h5", format);
  EXPECT_EQ(back.string_attribute("", "text"), "Grüße, slime");
  EXPECT_EQ(back.string_attribute("one", "empty"), "");
  EXPECT_EQ(back.integer_attribute("one/two", "step"), std::int64_t{1} << 60);
  EXPECT_EQ(back.number_attribute("one/values", "scale"), 0.2);
  EXPECT_EQ(back.attributes(""), (std::vector<std::string>{"format", "format_version", "text"}));
  EXPECT_TRUE(back.has_attribute("", "text"));
  EXPECT_FALSE(back.has_attribute("", "none"));
  EXPECT_EQ(back.attribute_text("one/two", "step"), "1152921504606846976");
  EXPECT_EQ(back.attribute_text("", "text"), "Grüße, slime");
}

TEST(File, lists_groups_and_datasets) {
  const test::TemporaryDirectory directory;
  File file = File::create(directory / "a.h5", alone, format);
  file.write_dataset<float>("b/x", {1}, 0, std::vector<float>{1});
  file.write_dataset<float>("b/c/y", {1}, 0, std::vector<float>{1});
  file.write_text("a", "text");
  file.create_group("empty");
  file.close();
  const File back = File::open_read(directory / "a.h5", format);
  EXPECT_EQ(back.list(), (std::vector<std::string>{"a", "b/", "empty/"}));
  EXPECT_EQ(back.list("b"), (std::vector<std::string>{"c/", "x"}));
  EXPECT_EQ(back.datasets(), (std::vector<std::string>{"a", "b/c/y", "b/x"}));
  EXPECT_TRUE(back.contains("b/c"));
  EXPECT_FALSE(back.contains("b/d"));
  EXPECT_FALSE(back.contains("nowhere/d"));
}

TEST(File, holds_texts_of_any_length) {
  const test::TemporaryDirectory directory;
  std::string longer;
  for (int i = 0; i < 20'000; ++i) longer += "line " + std::to_string(i) + "\n";
  File file = File::create(directory / "a.h5", alone, format);
  file.write_text("empty", "");
  file.write_text("longer", longer);
  file.close();
  const File back = File::open_read(directory / "a.h5", format);
  EXPECT_EQ(back.read_text("empty"), "");
  EXPECT_EQ(back.read_text("longer"), longer);
  EXPECT_EQ(back.info("longer").element, Element::text);
  back.verify_all(alone);
}

TEST(File, holds_datasets_without_rows_and_without_columns) {
  const test::TemporaryDirectory directory;
  for (const auto layout : {DatasetLayout::contiguous, DatasetLayout::checked}) {
    File file = File::create(directory / "a.h5", alone, format);
    file.write_dataset<float>("no_rows", {0}, 0, std::vector<float>(), {.layout = layout});
    file.write_dataset<float>("no_columns", {5, 0}, 0, std::vector<float>(), {.layout = layout});
    EXPECT_EQ(file.write_concatenated<float>("none", std::vector<float>()), 0u);
    file.close();
    const File back = File::open_read(directory / "a.h5", format);
    EXPECT_TRUE(back.read_dataset<float>("no_rows").empty());
    EXPECT_TRUE(back.read_dataset<float>("no_columns", Extent{5, 0}).empty());
    back.verify_all(alone);
  }
}

TEST(File, keeps_every_bit_of_numbers) {
  const test::TemporaryDirectory directory;
  const std::vector<float> values{-0.0f, std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::denorm_min(),
                                  -std::numeric_limits<float>::infinity()};
  File file = File::create(directory / "a.h5", alone, format);
  file.write_concatenated<float>("values", values);
  file.close();
  const auto back = File::open_read(directory / "a.h5", format).read_dataset<float>("values");
  EXPECT_EQ(std::memcmp(back.data(), values.data(), sizeof(float) * values.size()), 0);
}

TEST(File, refuses_rows_that_do_not_fit) {
  const test::TemporaryDirectory directory;
  const std::vector<float> three(3);
  const auto write = [&](const Extent& extent, std::uint64_t first) {
    File file = File::create(directory / "a.h5", alone, format);
    file.write_dataset<float>("values", extent, first, three);
  };
  EXPECT_THROW(write({2, 2}, 0), base::ContractViolation);  // not whole rows
  EXPECT_THROW(write({3}, 1), base::ContractViolation);     // beyond the end
  EXPECT_THROW(write({4}, 0), base::ContractViolation);     // does not cover it
  EXPECT_NO_THROW(write({3}, 0));
}

TEST(File, is_moved_and_closed_by_name) {
  const test::TemporaryDirectory directory;
  File file = File::create(directory / "a.h5", alone, format);
  File other = std::move(file);
  EXPECT_FALSE(file.valid());  // NOLINT(bugprone-use-after-move): what a moved-from file is
  EXPECT_THROW(other = File::create(directory / "b.h5", alone, format), base::ContractViolation);
  other.flush();
  other.close();
  EXPECT_FALSE(other.valid());
  other.close();
}

}  // namespace
}  // namespace physarum::storage
