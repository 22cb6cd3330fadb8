#include <cstdlib>
#include <numeric>

#include <unistd.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/parallel/agree.hpp"

#include "physarum/storage/file.hpp"

#include "support/mpi_test.hpp"
#include "support/shared_directory.hpp"

namespace physarum::storage {
namespace {

using test::world;
const Format format{"physarum.test", 1};

/// Rows of three values; the share of each rank is uneven, and the last rank has none (if it is not
/// alone).
struct Rows {
  std::uint64_t total = 10'007;
  std::uint64_t first = 0;
  std::vector<double> mine;
};
Rows uneven_rows() {
  Rows rows;
  const auto ranks = static_cast<std::uint64_t>(std::max(1, world().size() - 1));
  const auto rank = static_cast<std::uint64_t>(world().rank());
  const auto begin = [&](std::uint64_t r) { return rows.total * r * r / (ranks * ranks); };
  if (rank < ranks) {
    rows.first = begin(rank);
    rows.mine.resize((begin(rank + 1) - rows.first) * 3);
    std::iota(rows.mine.begin(), rows.mine.end(), static_cast<double>(rows.first * 3));
  }
  return rows;
}
std::vector<double> all_rows() {
  std::vector<double> values(Rows().total * 3);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

void write_rows(const std::filesystem::path& path, DatasetLayout layout) {
  const Rows rows = uneven_rows();
  File file = File::create(path, world(), format);
  file.write_dataset<double>("group/rows", {rows.total, 3}, rows.first, rows.mine,
                             {.layout = layout, .chunk_bytes = 5000});
  file.set_attribute("group/rows", "step", std::int64_t{9});
  file.write_text("config", "lr = 1e-6\n");
  file.close();
}

TEST(SharedFile, every_rank_reads_what_all_wrote) {
  const test::SharedDirectory directory(world());
  for (const auto layout : {DatasetLayout::contiguous, DatasetLayout::checked}) {
    write_rows(directory / "a.h5", layout);
    const File file = File::open_read(directory / "a.h5", format, world());
    EXPECT_EQ(file.read_dataset<double>("group/rows", Extent{File::any_size, 3}), all_rows());
    EXPECT_EQ(file.integer_attribute("group/rows", "step"), 9);
    EXPECT_EQ(file.read_text("config"), "lr = 1e-6\n");
    file.verify_all(world());
    world().barrier();
  }
}

TEST(SharedFile, its_digest_does_not_depend_on_the_rank_count) {
  const test::SharedDirectory directory(world());
  write_rows(directory / "a.h5", DatasetLayout::contiguous);
  const File file = File::open_read(directory / "a.h5", format);
  EXPECT_EQ(file.string_attribute("group/rows", "digest"),
            "xxh3-4k:3d77f4887baf985dfbc63acc2e3b4c81");
}

TEST(SharedFile, shares_are_read_and_verified_together) {
  const test::SharedDirectory directory(world());
  write_rows(directory / "a.h5", DatasetLayout::contiguous);
  const File file = File::open_read(directory / "a.h5", format, world());
  const Rows rows = uneven_rows();
  std::vector<double> mine(rows.mine.size());
  file.read_share<double>("group/rows", rows.first, mine, world());
  EXPECT_EQ(mine, rows.mine);
}

TEST(SharedFile, concatenates_in_rank_order) {
  const test::SharedDirectory directory(world());
  const std::vector<std::int32_t> mine(static_cast<std::size_t>(world().rank()) * 1000,
                                       world().rank());
  File file = File::create(directory / "a.h5", world(), format);
  const auto first = file.write_concatenated<std::int32_t>("values", mine);
  file.close();
  const auto all = File::open_read(directory / "a.h5", format).read_dataset<std::int32_t>("values");
  EXPECT_TRUE(
      std::equal(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(first)));
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  world().barrier();
}

TEST(SharedFile, many_datasets_of_many_shapes) {
  const test::SharedDirectory directory(world());
  File file = File::create(directory / "a.h5", world(), format);
  const auto ranks = static_cast<std::uint64_t>(world().size());
  const auto rank = static_cast<std::uint64_t>(world().rank());
  for (std::uint64_t i = 0; i < 60; ++i) {
    std::vector<float> mine(i * 7, static_cast<float>(rank));
    file.write_dataset<float>("layer." + std::to_string(i), {ranks, i * 7}, rank, mine);
  }
  file.flush();
  file.close();
  const File back = File::open_read(directory / "a.h5", format, world());
  back.verify_all(world());
  const auto values = back.read_dataset<float>("layer.59", Extent{ranks, 413});
  for (std::uint64_t r = 0; r < ranks; ++r) {
    EXPECT_EQ(values[r * 413 + 200], static_cast<float>(r));
  }
  world().barrier();
}

TEST(SharedFile, all_ranks_refuse_rows_that_do_not_cover) {
  const test::SharedDirectory directory(world());
  File file = File::create(directory / "a.h5", world(), format);
  const std::vector<float> mine(world().rank() == 0 ? 3 : 0);
  EXPECT_THROW(file.write_dataset<float>("values", {4}, 0, mine), base::ContractViolation);
  file.abandon();
  EXPECT_FALSE(file.valid());
}

TEST(SharedFile, all_ranks_hear_of_one_rank_s_mistake) {
  const test::SharedDirectory directory(world());
  File file = File::create(directory / "a.h5", world(), format);
  const std::vector<float> mine(world().rank() == world().size() - 1 ? 5 : 0);
  try {
    file.write_dataset<float>("values", {4}, 0, mine);  // the last rank has a row too many
    ADD_FAILURE() << "accepted";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("the rows lie in the dataset"), std::string::npos);
  }
  file.abandon();
}

TEST(SharedFile, all_ranks_throw_together_for_a_missing_or_damaged_file) {
  const test::SharedDirectory directory(world());
  EXPECT_THROW((void)File::open_read(directory / "none.h5", format, world()), base::UserError);
  EXPECT_THROW((void)File::create("/nonexistent/a.h5", world(), format), base::UserError);
  write_rows(directory / "a.h5", DatasetLayout::contiguous);
  const auto offset = std::filesystem::file_size(directory / "a.h5") / 2;
  world().barrier();
  if (world().rank() == 0) {
    std::FILE* stream = std::fopen((directory / "a.h5").c_str(), "r+b");
    ASSERT_NE(stream, nullptr);
    std::fseek(stream, static_cast<long>(offset), SEEK_SET);
    std::fputc(0x5a, stream);
    std::fclose(stream);
  }
  world().barrier();
  const File file = File::open_read(directory / "a.h5", format, world());
  EXPECT_THROW(file.verify_all(world()), base::UserError);
}

}  // namespace
}  // namespace physarum::storage
