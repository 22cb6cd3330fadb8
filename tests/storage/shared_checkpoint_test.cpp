// Checkpoints that several ranks write together, and that any number of ranks reads.
#include <cerrno>
#include <numeric>

#include <gtest/gtest.h>

#include "physarum/parallel/agree.hpp"

#include "physarum/storage/checkpoint_writer.hpp"

#include "support/mpi_test.hpp"
#include "support/scripted_file_system.hpp"
#include "support/shared_directory.hpp"

namespace physarum::storage {
namespace {

using test::ScriptedFileSystem;
using test::world;

std::vector<float> values_of(std::int64_t step) {
  std::vector<float> values(300'000);
  std::iota(values.begin(), values.end(), static_cast<float>(step));
  return values;
}

/// `values` twice, shared out over `ranks`.
CheckpointContent content_of(std::int64_t step, const std::vector<float>& values, int rank,
                             int ranks) {
  CheckpointContent content;
  content.step = step;
  content.weight_version = step;
  content.bulk = {{"weights/a", Element::f32, {300, 1000}}, {"weights/b", Element::f32, {300000}}};
  const std::vector<std::span<const std::byte>> whole(2, std::as_bytes(std::span(values)));
  content.shares = split_evenly(content.bulk, whole, rank, ranks);
  content.rest = [](File& file) { file.write_text("configuration", "text"); };
  return content;
}

std::vector<SaveOutcome> save(CheckpointWriter& writer, std::int64_t step, SaveMode mode) {
  const auto values = values_of(step);
  writer.begin(content_of(step, values, world().rank(), world().size()), mode);
  writer.wait();
  world().barrier();
  return writer.take_outcomes();
}

bool loads(const std::filesystem::path& directory, std::int64_t step) {
  try {
    const CheckpointReader reader(real_file_system(), directory / checkpoint_name(step));
    std::vector<float> values(300'000);
    reader.read("weights/a", {300, 1000}, std::span(values));
    const bool same = values == values_of(step);
    reader.read("weights/b", {300000}, std::span(values));
    return same && values == values_of(step);
  } catch (const DamagedCheckpoint&) {
    return false;
  }
}

TEST(SharedCheckpoint, is_read_by_every_rank) {
  const test::SharedDirectory directory(world());
  CheckpointWriter writer(real_file_system(), {directory.path(), 2, 60}, world());
  for (std::int64_t step = 1; step <= 4; ++step) {
    const auto outcomes = save(writer, step, step % 2 == 0 ? SaveMode::wait : SaveMode::background);
    ASSERT_EQ(outcomes.size(), world().rank() == 0 ? 1U : 0U);
    if (world().rank() == 0) {
      EXPECT_TRUE(outcomes.front().good) << outcomes.front().text;
    }
    EXPECT_TRUE(loads(directory.path(), step));
    world().barrier();
  }
  EXPECT_EQ(list_checkpoints(real_file_system(), directory.path()),
            (std::vector<std::int64_t>{4, 3}));
  world().barrier();
}

TEST(SharedCheckpoint, has_the_same_digests_for_any_number_of_writers) {
  const test::SharedDirectory directory(world());
  CheckpointWriter together(real_file_system(), {directory.path() / "all", 0, 60}, world());
  (void)save(together, 5, SaveMode::wait);
  const parallel::Communicator alone;
  if (world().rank() == 0) {
    CheckpointWriter one(real_file_system(), {directory.path() / "one", 0, 60}, alone);
    const auto values = values_of(5);
    one.begin(content_of(5, values, 0, 1), SaveMode::wait);
    const CheckpointReader a(real_file_system(), directory.path() / "all/step-5");
    const CheckpointReader b(real_file_system(), directory.path() / "one/step-5");
    for (const char* name : {"weights/a", "weights/b"})
      EXPECT_EQ(a.find(name)->digest, b.find(name)->digest);
  }
  world().barrier();
}

/// Whichever rank's disk fails, at whichever step: all ranks go on, the first one says so, and the
/// checkpoint before stays.
TEST(SharedCheckpoint, one_rank_that_fails_costs_only_this_checkpoint) {
  std::int64_t fired = 0;
  for (int victim = 0; victim < world().size(); ++victim) {
    for (int step = 0; step < 12; ++step) {
      const test::SharedDirectory directory(world());
      ScriptedFileSystem files;
      CheckpointWriter writer(files, {directory.path(), 0, 20}, world());
      (void)save(writer, 1, SaveMode::wait);
      if (world().rank() == victim) files.fail_at(step);
      const auto outcomes = save(writer, 2, SaveMode::background);
      fired += files.fired() ? 1 : 0;
      if (world().rank() == 0) {
        ASSERT_EQ(outcomes.size(), 1U);
        EXPECT_TRUE(outcomes.front().good ? loads(directory.path(), 2)
                                          : !outcomes.front().text.empty());
      }
      EXPECT_TRUE(loads(directory.path(), 1)) << "victim " << victim << " step " << step;
      files.fail_at(-1);
      const auto again = save(writer, 3, SaveMode::background);
      if (world().rank() == 0) {
        EXPECT_TRUE(again.front().good) << again.front().text;
      }
      EXPECT_TRUE(loads(directory.path(), 3));
      world().barrier();
    }
  }
  EXPECT_GT(world().all_reduce_value(fired, parallel::Op::sum), 10) << "the fault did not fire";
}

}  // namespace
}  // namespace physarum::storage
