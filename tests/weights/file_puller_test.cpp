// An engine of the same job reads weight versions from files, and from the store what these lack.
#include "file_puller.hpp"

#include <algorithm>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "filed_store.hpp"

namespace physarum::weights {
namespace {

using test::FiledStore;
using Kind = PullResult::Kind;

/// One engine beside a store whose versions go into a directory.
class FilingJob {
 public:
  explicit FilingJob(UpdateMode mode, std::int64_t ring = 4)
      : filed(mode, 0, ring), image(filed.store.catalogue) {
    WeightOptions options = filed.options;
    options.carrier = WeightCarrier::file;
    options.directory = filed.directory.string();
    puller = std::make_unique<Puller>(
        std::make_unique<FilePuller>(filed.store.layout, filed.store.engine_access, options,
                                     filed.store.catalogue, storage::real_file_system()));
  }
  /// What the store gives: 0 as long as files do.
  [[nodiscard]] std::size_t bytes_of_store() const {
    return filed.store.engine_access.most_under_way;
  }
  PullResult pull(std::optional<std::int64_t> exactly = {}) {
    std::optional<base::WeightVersion> version;
    if (exactly) version = base::WeightVersion(*exactly);
    return puller->pull(image, base::Deadline::in(10), version);
  }
  void expect_pull(std::int64_t version, Kind kind, std::int64_t deltas) {
    const PullResult result = pull();
    EXPECT_EQ(result.kind, kind) << version;
    EXPECT_EQ(result.deltas, deltas) << version;
    EXPECT_EQ(result.failures, 0);
    EXPECT_TRUE(holds(version)) << version;
  }
  [[nodiscard]] bool holds(std::int64_t version) const {
    return filed.store.same_as(version, image, FiledStore::sparse_density);
  }
  [[nodiscard]] std::filesystem::path path_of(std::int64_t version, std::int64_t base,
                                              int part = 0) const {
    const WeightFileName file{base::WeightVersion(version), base::WeightVersion(base), part,
                              FiledStore::buffers};
    return filed.directory / file.file_name();
  }

  FiledStore filed;
  Image image;
  std::unique_ptr<Puller> puller;
};

TEST(FilePuller, follows_by_deltas_and_takes_nothing_from_the_store) {
  FilingJob job(UpdateMode::delta);
  EXPECT_EQ(job.pull().kind, Kind::unavailable);
  job.filed.publish_and_write(0);
  job.expect_pull(0, Kind::full, 0);
  for (std::int64_t version = 1; version < 6; ++version) {
    job.filed.publish_and_write(version);
    job.expect_pull(version, Kind::delta, 1);
    EXPECT_EQ(job.pull().kind, Kind::current);
  }
  for (std::int64_t version = 6; version < 9; ++version) job.filed.publish_and_write(version);
  job.expect_pull(8, Kind::delta, 3);
  EXPECT_EQ(job.bytes_of_store(), 0U);
}

TEST(FilePuller, takes_the_full_file_with_the_deltas_after_it_where_its_version_has_no_way_on) {
  FilingJob job(UpdateMode::delta);
  job.filed.publish_and_write(0);
  job.expect_pull(0, Kind::full, 0);
  job.filed.publish_and_write(1);
  job.filed.store.publish_full(2);
  job.filed.write_all();
  for (std::int64_t version = 3; version < 9; ++version) job.filed.publish_and_write(version);
  job.expect_pull(8, Kind::full, 6);
  EXPECT_EQ(job.bytes_of_store(), 0U);
}

TEST(FilePuller, follows_full_images) {
  FilingJob job(UpdateMode::full);
  for (std::int64_t version = 0; version < 5; ++version) {
    job.filed.publish_and_write(version);
    job.expect_pull(version, Kind::full, 0);
  }
  EXPECT_EQ(job.bytes_of_store(), 0U);
}

TEST(FilePuller, gets_exactly_the_version_that_it_asks_for) {
  FilingJob job(UpdateMode::delta);
  for (std::int64_t version = 0; version < 4; ++version) job.filed.publish_and_write(version);
  EXPECT_EQ(job.pull(2).version, base::WeightVersion(2));
  EXPECT_TRUE(job.holds(2));
  EXPECT_EQ(job.pull(7).kind, Kind::unavailable);
  EXPECT_TRUE(job.holds(2));
  EXPECT_EQ(job.bytes_of_store(), 0U);
}

TEST(FilePuller, moves_little_at_a_time_and_can_be_given_up) {
  FilingJob job(UpdateMode::delta);
  job.filed.publish_and_write(0);
  job.filed.publish_and_write(1);
  std::int64_t slices = 0;
  job.puller->begin(job.image);
  while (!job.puller->advance(50'000, base::Deadline::in(10))) ++slices;
  EXPECT_GT(slices, 5);
  EXPECT_TRUE(job.holds(1));
  job.filed.publish_and_write(2);
  job.puller->begin(job.image);
  EXPECT_FALSE(job.puller->advance(1, base::Deadline::in(10)));
  job.puller->abandon();
  EXPECT_FALSE(job.puller->active());
  job.expect_pull(2, job.image.version().valid() ? Kind::delta : Kind::full,
                  job.image.version().valid() ? 1 : 2);
}

TEST(FilePuller, waits_for_a_file_and_names_who_does_not_write_it) {
  FilingJob job(UpdateMode::delta);
  job.filed.publish_and_write(0);
  job.filed.store.publish(1);
  job.filed.write(0);
  try {
    (void)job.puller->pull(job.image, base::Deadline::in(0.1));
    FAIL() << "pulled what is not written";
  } catch (const base::DeadlineExceeded& error) {
    const std::string said = error.what();
    EXPECT_NE(
        said.find("buffer rank 1 to write weight version 1 into " + job.filed.directory.string()),
        std::string::npos)
        << said;
  }
  EXPECT_FALSE(job.puller->active());
  job.filed.write(1);
  job.expect_pull(1, Kind::full, 1);
}

TEST(FilePuller, goes_on_to_the_newer_version_where_a_file_was_removed_under_it) {
  FilingJob job(UpdateMode::full);
  job.filed.publish_and_write(0);
  job.puller->begin(job.image);
  while (!job.puller->advance(1, base::Deadline::in(10)) && job.image.version().valid()) {
  }
  for (std::int64_t version = 1; version < 4; ++version) job.filed.publish_and_write(version);
  ASSERT_FALSE(std::filesystem::exists(job.path_of(0, -1)));
  std::optional<PullResult> result;
  while (!result) result = job.puller->advance(1'000'000, base::Deadline::in(10));
  EXPECT_GE(result->retries, 1);
  EXPECT_EQ(result->failures, 0);
  EXPECT_TRUE(job.holds(3));
  EXPECT_EQ(job.bytes_of_store(), 0U);
}

TEST(FilePuller, takes_from_the_store_what_could_not_be_written) {
  FilingJob job(UpdateMode::delta);
  job.filed.publish_and_write(0);
  job.expect_pull(0, Kind::full, 0);
  std::filesystem::remove_all(job.filed.directory);
  job.filed.publish_and_write(1);
  EXPECT_EQ(job.pull().kind, Kind::delta);
  EXPECT_TRUE(job.holds(1));
  EXPECT_GT(job.bytes_of_store(), 0U);
  std::filesystem::create_directory(job.filed.directory);
  job.filed.publish_and_write(2);
  job.expect_pull(2, Kind::full, 0);
}

/// Times that the puller said that a version is not in the directory, in a pull of each.
int told_of_missing(FilingJob& job, std::int64_t first, std::int64_t last) {
  testing::internal::CaptureStderr();
  for (std::int64_t version = first; version <= last; ++version) {
    job.filed.publish_and_write(version);
    (void)job.pull();
    EXPECT_TRUE(job.holds(version));
  }
  const std::string said = testing::internal::GetCapturedStderr();
  int times = 0;
  for (auto at = said.find("it is not in"); at != std::string::npos;
       at = said.find("it is not in", at + 1)) {
    ++times;
  }
  return times;
}

TEST(FilePuller, says_once_that_it_does_not_see_the_directory_and_again_after_it_did) {
  FilingJob job(UpdateMode::delta);
  for (std::int64_t first = 0; first < 8; first += 4) {
    EXPECT_EQ(told_of_missing(job, first, first), 0);
    std::filesystem::remove_all(job.filed.directory);
    EXPECT_EQ(told_of_missing(job, first + 1, first + 3), 1);
    std::filesystem::create_directory(job.filed.directory);
  }
}

TEST(FilePuller, takes_from_the_store_what_is_damaged_and_asks_for_a_full_image) {
  for (const bool delta : {true, false}) {
    FilingJob job(UpdateMode::delta);
    job.filed.publish_and_write(0);
    job.filed.publish_and_write(1);
    const auto path = delta ? job.path_of(1, 0) : job.path_of(0, -1);
    const auto bytes = std::filesystem::file_size(path);
    test::flip(path, delta ? test::place_of_frames(path) + 40 : bytes - 100, 3);
    const PullResult result = job.pull();
    EXPECT_EQ(result.failures, 1);
    EXPECT_TRUE(job.holds(1));
    EXPECT_GT(job.bytes_of_store(), 0U);
    job.filed.publish_and_write(2);
    EXPECT_EQ(job.filed.count(0, true), 2);
    job.expect_pull(2, Kind::full, 0);
  }
}

/// Whatever happens to a file: the image is the version that it claims.
TEST(FilePuller, damage_anywhere_never_gives_a_wrong_image) {
  FilingJob job(UpdateMode::delta);
  for (std::int64_t version = 0; version < 3; ++version) job.filed.publish_and_write(version);
  const auto all = job.filed.names();
  std::mt19937_64 dice(5);
  std::int64_t noticed = 0;
  for (int attempt = 0; attempt < 40; ++attempt) {
    const auto path = job.filed.directory / all[dice() % all.size()].file_name();
    const auto kept = job.filed.directory / "kept";
    std::filesystem::copy_file(path, kept);
    const auto bytes = std::filesystem::file_size(path);
    const auto place = dice() % (attempt % 2 == 0 ? bytes : std::min<std::uint64_t>(bytes, 6000));
    if (attempt % 5 == 4) {
      std::filesystem::resize_file(path, place);
    } else {
      test::flip(path, place, static_cast<int>(dice() % 8));
    }
    job.image.set_version({});
    noticed += job.pull().failures;
    EXPECT_TRUE(job.holds(2)) << path << " " << place;
    std::filesystem::rename(kept, path);
  }
  EXPECT_GT(noticed, 10);
}

}  // namespace
}  // namespace physarum::weights
