#include "physarum/storage/checkpoint.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <numeric>
#include <random>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include "physarum/base/hash.hpp"

#include "physarum/storage/checkpoint_writer.hpp"
#include "physarum/storage/directory_lock.hpp"

#include "support/scripted_file_system.hpp"
#include "support/temporary_directory.hpp"

namespace physarum::storage {
namespace {

using test::ScriptedFileSystem;
using Path = std::filesystem::path;

/// Three datasets whose values tell the step, and something small beside them.
struct State {
  explicit State(std::int64_t its_step) : step(its_step) {
    for (const std::size_t size : {5000UL, 1UL, 70000UL}) {
      values.emplace_back(size);
      std::iota(values.back().begin(), values.back().end(),
                static_cast<float>(its_step * 1000 + static_cast<std::int64_t>(size)));
    }
  }
  [[nodiscard]] std::vector<BulkDataset> datasets() const {
    return {{"weights/a", Element::f32, {50, 100}},
            {"weights/b", Element::f32, {1}},
            {"optimizer/mean/a", Element::f32, {70000}}};
  }
  [[nodiscard]] CheckpointContent content(int rank = 0, int ranks = 1) const {
    std::vector<std::span<const std::byte>> whole;
    for (const auto& one : values) whole.push_back(std::as_bytes(std::span(one)));
    CheckpointContent made;
    made.step = step;
    made.weight_version = step;
    made.program_version = "test";
    made.hosts = {"here"};
    made.bulk = datasets();
    made.shares = split_evenly(made.bulk, whole, rank, ranks);
    const auto number = step;
    made.rest = [number](File& file) {
      file.write_text("configuration", "step = " + std::to_string(number));
    };
    return made;
  }
  std::int64_t step;
  std::vector<std::vector<float>> values;
};

/// What the loader of a run does: the newest checkpoint that verifies; -1 if there is none.
std::int64_t load_newest(const Path& directory, std::vector<std::string>* damaged = nullptr) {
  auto& files = real_file_system();
  for (const auto step : list_checkpoints(files, directory)) {
    try {
      const CheckpointReader reader(files, directory / checkpoint_name(step));
      const State expected(step);
      for (std::size_t i = 0; i < expected.values.size(); ++i) {
        std::vector<float> values(expected.values[i].size());
        const auto dataset = expected.datasets()[i];
        reader.read(dataset.name, dataset.extent, std::span(values));
        EXPECT_EQ(values, expected.values[i]) << "verified, but wrong";
      }
      EXPECT_EQ(reader.file().read_text("configuration"), "step = " + std::to_string(step));
      EXPECT_EQ(reader.manifest().step, step);
      return step;
    } catch (const DamagedCheckpoint& error) {
      if (damaged != nullptr) damaged->emplace_back(error.what());
    }
  }
  return -1;
}

SaveOutcome save(FileSystem& files, const Path& directory, std::int64_t step,
                 SaveMode mode = SaveMode::wait, std::int64_t keep = 0) {
  const parallel::Communicator alone;
  CheckpointWriter writer(files, {directory, keep, 20}, alone);
  {
    const State state(step);
    writer.begin(state.content(), mode);
  }  // a background save has its own copy
  writer.wait();
  const auto outcomes = writer.take_outcomes();
  EXPECT_EQ(outcomes.size(), 1U);
  return outcomes.empty() ? SaveOutcome{} : outcomes.front();
}

std::string slurp(const Path& path) { return real_file_system().read_file(path); }
void spill(const Path& path, std::string_view content) {
  real_file_system().write_file(path, content);
}

TEST(Checkpoint, comes_back_as_it_was) {
  const test::TemporaryDirectory directory;
  for (const SaveMode mode : {SaveMode::wait, SaveMode::background}) {
    const auto outcome = save(real_file_system(), directory.path(), 7, mode);
    EXPECT_TRUE(outcome.good) << outcome.text;
    EXPECT_EQ(load_newest(directory.path()), 7);
    EXPECT_EQ(slurp(directory.path() / "latest"), "step-7\n");
  }
  EXPECT_EQ(real_file_system().list(directory.path()),
            (std::vector<std::string>{"latest", "step-7"}));
  const CheckpointReader reader(real_file_system(), directory.path() / "step-7");
  EXPECT_NO_THROW(reader.verify());
  EXPECT_EQ(reader.file().integer_attribute("", "step"), 7);
}

TEST(Checkpoint, keeps_the_newest_ones) {
  const test::TemporaryDirectory directory;
  for (const std::int64_t step : {1, 2, 10, 9}) {
    EXPECT_TRUE(save(real_file_system(), directory.path(), step, SaveMode::wait, 2).good);
  }
  EXPECT_EQ(list_checkpoints(real_file_system(), directory.path()),
            (std::vector<std::int64_t>{10, 9}));
}

TEST(Checkpoint, split_covers_every_byte_once) {
  const State state(1);
  for (const int ranks : {1, 2, 3, 7, 100}) {
    std::vector<std::uint64_t> ends(3, 0);
    for (int rank = 0; rank < ranks; ++rank) {
      for (const auto& share : state.content(rank, ranks).shares) {
        EXPECT_EQ(share.begin, ends[share.dataset]);
        EXPECT_EQ(share.begin % share_alignment, 0U);
        ends[share.dataset] += share.bytes.size();
      }
    }
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(ends[i], state.datasets()[i].bytes());
  }
}

// Killed before each of its steps: the checkpoint of before is there, or this one, whole.
TEST(Checkpoint, killed_anywhere_leaves_the_old_one_or_the_new_one) {
  int old_ones = 0, new_ones = 0, step = 0;
  for (;; ++step) {
    const test::TemporaryDirectory directory;
    ASSERT_TRUE(save(real_file_system(), directory.path(), 1).good);
    ScriptedFileSystem files;
    files.fail_at(step, ScriptedFileSystem::Fault::die);
    (void)save(files, directory.path(), 2);
    if (!files.fired()) break;
    std::vector<std::string> damaged;
    const auto loaded = load_newest(directory.path(), &damaged);
    EXPECT_TRUE(loaded == 1 || loaded == 2) << "killed before its step " << step;
    EXPECT_TRUE(damaged.empty()) << damaged.front();
    (loaded == 1 ? old_ones : new_ones) += 1;
    clean_checkpoints(real_file_system(), directory.path());
    for (const auto& name : real_file_system().list(directory.path()))
      EXPECT_TRUE(name == "latest" || name.starts_with("step-")) << name;
  }
  EXPECT_GE(step, 10) << "the faults did not fire";
  EXPECT_GT(old_ones, 0);
  EXPECT_GT(new_ones, 0);
}

TEST(Checkpoint, a_failing_disk_costs_only_the_new_one) {
  for (int step = 0;; ++step) {
    const test::TemporaryDirectory directory;
    ASSERT_TRUE(save(real_file_system(), directory.path(), 1).good);
    ScriptedFileSystem files;
    files.fail_at(step, ScriptedFileSystem::Fault::refuse, step % 2 == 0 ? ENOSPC : EIO);
    const auto outcome = save(files, directory.path(), 2);
    if (!files.fired()) break;
    const auto loaded = load_newest(directory.path());
    // What fails after the rename does not undo the checkpoint; before it, nothing stays of it.
    EXPECT_TRUE(loaded == 1 || loaded == 2) << "refused at step " << step;
    EXPECT_TRUE(!outcome.good || loaded == 2) << step;
    EXPECT_TRUE(loaded == 2 || !outcome.text.empty()) << step;
  }
}

TEST(Checkpoint, full_disk_is_said_before_anything_is_written) {
  const test::TemporaryDirectory directory;
  ScriptedFileSystem files;
  files.set_free_bytes(1 << 20);
  const auto outcome = save(files, directory.path(), 3);
  EXPECT_FALSE(outcome.good);
  EXPECT_NE(outcome.text.find("MiB left"), std::string::npos) << outcome.text;
  EXPECT_TRUE(real_file_system().list(directory.path()).empty());
}

TEST(Checkpoint, a_disk_that_fills_up_costs_only_the_new_one) {
  const test::TemporaryDirectory directory;
  int failures = 0;
  // One checkpoint needs about 320 kB: room for one, and for more and more of the second.
  for (const int kilobytes : {350, 390, 440, 500, 560, 900}) {
    const auto size = "size=" + std::to_string(kilobytes) + "k";
    if (::mount("tmpfs", directory.path().c_str(), "tmpfs", 0, size.c_str()) != 0)
      GTEST_SKIP() << "mounting a small disk needs root";
    ScriptedFileSystem files;
    files.set_free_bytes(std::uint64_t{1} << 40);  // the disk says it in the middle of a write
    ASSERT_TRUE(save(files, directory.path(), 1).good) << size;
    const auto outcome = save(files, directory.path(), 2);
    failures += outcome.good ? 0 : 1;
    std::vector<std::string> damaged;
    EXPECT_EQ(load_newest(directory.path(), &damaged), outcome.good ? 2 : 1) << size;
    EXPECT_TRUE(damaged.empty());
    EXPECT_EQ(outcome.good, outcome.text.empty()) << outcome.text;
    // Nothing of it stays, so the next one finds the room that there was.
    for (const auto& name : real_file_system().list(directory.path()))
      EXPECT_TRUE(name == "latest" || name.starts_with("step-")) << name << " " << size;
    ::umount(directory.path().c_str());
  }
  EXPECT_EQ(failures, 5) << "the disk was never full";
}

TEST(Checkpoint, every_flipped_byte_is_noticed) {
  const test::TemporaryDirectory directory;
  ASSERT_TRUE(save(real_file_system(), directory.path(), 1).good);
  ASSERT_TRUE(save(real_file_system(), directory.path(), 2).good);
  std::mt19937_64 random(11);
  for (const char* name : {checkpoint_file_name, manifest_file_name}) {
    const auto path = directory.path() / "step-2" / name;
    const std::string good = slurp(path);
    for (int round = 0; round < 150; ++round) {
      // The first bytes are HDF5's own, the rest falls anywhere.
      const std::size_t at =
          round < 50 ? random() % std::min<std::size_t>(good.size(), 2048) : random() % good.size();
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ static_cast<char>(1 << random() % 8));
      spill(path, bad);
      std::vector<std::string> damaged;
      EXPECT_EQ(load_newest(directory.path(), &damaged), 1) << name << " byte " << at;
      ASSERT_EQ(damaged.size(), 1U);
      EXPECT_NE(damaged.front().find("step-2"), std::string::npos) << damaged.front();
    }
    spill(path, good);
    EXPECT_EQ(load_newest(directory.path()), 2);
  }
}

TEST(Checkpoint, every_other_length_is_noticed) {
  const test::TemporaryDirectory directory;
  ASSERT_TRUE(save(real_file_system(), directory.path(), 1).good);
  ASSERT_TRUE(save(real_file_system(), directory.path(), 2).good);
  for (const char* name : {checkpoint_file_name, manifest_file_name}) {
    const auto path = directory.path() / "step-2" / name;
    const std::string good = slurp(path);
    for (std::size_t part = 0; part < 50; ++part) {
      spill(path, std::string_view(good).substr(0, good.size() * part / 50));
      EXPECT_EQ(load_newest(directory.path()), 1) << name << " cut at " << part << "/50";
    }
    spill(path, good + "x");
    EXPECT_EQ(load_newest(directory.path()), 1);
    std::filesystem::remove(path);
    EXPECT_EQ(load_newest(directory.path()), 1);
    spill(path, good);
  }
  EXPECT_EQ(load_newest(directory.path()), 2);
}

/// The control: without verification HDF5 hands the same damage out as data.
TEST(Checkpoint, damage_is_silent_without_the_check) {
  const test::TemporaryDirectory directory;
  ASSERT_TRUE(save(real_file_system(), directory.path(), 2).good);
  const auto path = directory.path() / "step-2" / checkpoint_file_name;
  std::uint64_t offset = 0;
  {
    const CheckpointReader reader(real_file_system(), directory.path() / "step-2");
    offset = reader.find("weights/a")->offset;
  }
  std::string bad = slurp(path);
  bad[offset + 2] = static_cast<char>(bad[offset + 2] ^ 4);
  spill(path, bad);
  const auto file = File::open_read(path, checkpoint_format());
  std::vector<float> values(5000);
  EXPECT_NO_THROW(file.read_rows("weights/a", 0, std::span(values)));
  EXPECT_NE(values, State(2).values[0]);
  EXPECT_EQ(load_newest(directory.path()), -1);
}

TEST(Checkpoint, swapped_shares_and_stale_hints_are_noticed) {
  const test::TemporaryDirectory directory;
  ASSERT_TRUE(save(real_file_system(), directory.path(), 1).good);
  ASSERT_TRUE(save(real_file_system(), directory.path(), 2).good);
  spill(directory.path() / "latest", "step-99\n");
  EXPECT_EQ(load_newest(directory.path()), 2);
  // Two pieces of equal size change places.
  const auto path = directory.path() / "step-2" / checkpoint_file_name;
  const CheckpointReader reader(real_file_system(), directory.path() / "step-2");
  const auto offset = reader.find("optimizer/mean/a")->offset;
  std::string bad = slurp(path);
  std::swap_ranges(bad.begin() + static_cast<std::ptrdiff_t>(offset),
                   bad.begin() + static_cast<std::ptrdiff_t>(offset + 8192),
                   bad.begin() + static_cast<std::ptrdiff_t>(offset + 8192));
  spill(path, bad);
  EXPECT_EQ(load_newest(directory.path()), 1);
  // Another checkpoint's file under this manifest.
  std::filesystem::copy_file(directory.path() / "step-1" / checkpoint_file_name, path,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(load_newest(directory.path()), 1);
}

TEST(Checkpoint, another_model_is_the_users_error) {
  const test::TemporaryDirectory directory;
  ASSERT_TRUE(save(real_file_system(), directory.path(), 2).good);
  const CheckpointReader reader(real_file_system(), directory.path() / "step-2");
  std::vector<float> values(5000);
  const auto fails = [&](std::string_view name, const Extent& extent, std::string_view says) {
    try {
      reader.read(name, extent, std::span(values));
      ADD_FAILURE() << name;
    } catch (const DamagedCheckpoint& error) {
      ADD_FAILURE() << error.what();
    } catch (const base::UserError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  fails("weights/c", {5000}, "no such data");
  fails("weights/a", {100, 50}, "another shape");
}

TEST(Checkpoint, a_newer_version_is_not_damage) {
  const CheckpointManifest manifest{.step = 1,
                                    .weight_version = 1,
                                    .program_version = "x",
                                    .written = "now",
                                    .hosts = {},
                                    .file_bytes = 8,
                                    .rest_digest = "y",
                                    .bulk = {}};
  EXPECT_NO_THROW((void)CheckpointManifest::from_text(manifest.to_text(), "here"));
  std::string text = manifest.to_text();
  const auto at = text.find("\"format_version\": 1");
  text.replace(at, 19, "\"format_version\": 2");
  const auto tail = text.rfind(",\n \"digest\"");
  const std::string body = text.substr(0, tail);
  text = body + ",\n \"digest\": \"" + base::digest128(std::as_bytes(std::span(body))).hex() +
         "\"\n}\n";
  try {
    (void)CheckpointManifest::from_text(text, "here");
    ADD_FAILURE();
  } catch (const DamagedCheckpoint& error) {
    ADD_FAILURE() << error.what();
  } catch (const base::UserError& error) {
    EXPECT_NE(std::string(error.what()).find("version 2"), std::string::npos);
  }
}

TEST(DirectoryLock, has_one_holder_at_a_time) {
  const test::TemporaryDirectory directory;
  {
    const DirectoryLock lock(directory.path());
    try {
      const DirectoryLock second(directory.path());
      ADD_FAILURE();
    } catch (const base::UserError& error) {
      EXPECT_NE(std::string(error.what()).find("process " + std::to_string(::getpid())),
                std::string::npos)
          << error.what();
    }
  }
  EXPECT_NO_THROW(DirectoryLock(directory.path()));
  // What a killed process left is no lock.
  spill(directory.path() / ".lock", "host elsewhere, process 1, job 5, since then");
  EXPECT_NO_THROW(DirectoryLock(directory.path()));
}

}  // namespace
}  // namespace physarum::storage
