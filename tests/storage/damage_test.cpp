// Flipped bits and holes: the digest or the library notices; nothing crashes, nothing passes.

#include <fstream>
#include <numeric>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/storage/file.hpp"

#include "rehearsal.hpp"
#include "storage/alone.hpp"
#include "support/temporary_directory.hpp"

namespace physarum::storage {
namespace {

const Format damaged_format{"physarum.test", 1};

std::vector<std::int32_t> good_values() {
  std::vector<std::int32_t> values(40'000);
  std::iota(values.begin(), values.end(), 1000);
  return values;
}

void write_good(const std::filesystem::path& path, DatasetLayout layout) {
  File file = File::create(path, alone, damaged_format);
  file.write_dataset<std::int32_t>("values", {40'000}, 0, good_values(), {.layout = layout});
  file.write_text("text", "the resolved configuration");
  file.close();
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// "same": all values as written; otherwise what the reader was told.
std::string outcome(const std::filesystem::path& path) {
  try {
    const File file = File::open_read(path, damaged_format);
    const auto values = file.read_dataset<std::int32_t>("values", Extent{40'000});
    if (values != good_values()) return "WRONG VALUES";
    return file.read_text("text") == "the resolved configuration" ? "same" : "WRONG TEXT";
  } catch (const base::UserError& error) {
    return error.what();
  } catch (const base::WorldError& error) {
    return error.what();
  }
}

class Damage : public testing::TestWithParam<DatasetLayout> {};

TEST_P(Damage, a_flipped_bit_never_passes) {
  const test::TemporaryDirectory directory;
  const auto path = directory / "a.h5";
  write_good(path, GetParam());
  const std::string good = read_file(path);
  ASSERT_EQ(outcome(path), "same");
  // Closest in the first 6 KiB, where the structure lies. (A sweep over every byte there takes
  // minutes; it was run once.)
  std::vector<std::size_t> places;
  for (std::size_t at = 3; at < std::min<std::size_t>(good.size(), 6144); at += 13) {
    places.push_back(at);
  }
  for (std::size_t at = 6144; at < good.size(); at += 4999) places.push_back(at);
  int noticed = 0;
  for (const auto at : places) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    std::ofstream(path, std::ios::binary) << bad;
    const auto result = outcome(path);
    ASSERT_EQ(result.find("WRONG"), result.npos) << "byte " << at << ": " << result;
    noticed += result == "same" ? 0 : 1;
  }
  EXPECT_GT(noticed, 50);  // unused bytes of the structure may change without harm
}

TEST_P(Damage, a_hole_never_passes) {
  const test::TemporaryDirectory directory;
  const auto path = directory / "a.h5";
  write_good(path, GetParam());
  std::string bad = read_file(path);
  const std::size_t middle = bad.size() / 2;
  std::fill_n(bad.begin() + static_cast<std::ptrdiff_t>(middle), 4096, '\0');
  std::ofstream(path, std::ios::binary) << bad;
  const auto result = outcome(path);
  EXPECT_NE(result, "same");
  EXPECT_EQ(result.find("WRONG"), result.npos) << result;
}

INSTANTIATE_TEST_SUITE_P(Layouts, Damage,
                         testing::Values(DatasetLayout::contiguous, DatasetLayout::checked));

TEST(Rehearsal, keeps_what_kills_the_library_from_the_reader) {
  const test::TemporaryDirectory directory;
  const auto path = directory / "a.h5";
  write_good(path, DatasetLayout::checked);
  EXPECT_EQ(rehearse_reading(path), Rehearsal::survived);
  std::string bad = read_file(path);
  bad[1080] =
      static_cast<char>(bad[1080] ^ 1);  // a chunk's dimensions; HDF5 1.10.8 divides by zero
  std::ofstream(path, std::ios::binary) << bad;
  if (rehearse_reading(path) == Rehearsal::survived) GTEST_SKIP() << "this HDF5 does not crash";
  EXPECT_EQ(outcome(path),
            path.string() + ": the file is damaged; take another file, or write it again");
}

TEST(Digest, names_the_damaged_dataset) {
  const test::TemporaryDirectory directory;
  const auto path = directory / "a.h5";
  write_good(path, DatasetLayout::contiguous);
  std::string bad = read_file(path);
  bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 4);
  std::ofstream(path, std::ios::binary) << bad;
  const std::string expected = path.string() +
                               ":values: the data does not have its digest: the file is damaged; "
                               "take another file, or write it again";
  EXPECT_EQ(outcome(path), expected);
  try {
    File::open_read(path, damaged_format).verify_all(alone);
    FAIL() << "damage passed";
  } catch (const base::UserError& error) {
    EXPECT_EQ(error.what(), expected);
  }
}

}  // namespace
}  // namespace physarum::storage
