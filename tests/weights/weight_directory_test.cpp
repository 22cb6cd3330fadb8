// Weight versions as files: what buffer ranks write is what another job reads, or it reads nothing.
#include "physarum/weights/weight_directory.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "filed_store.hpp"

namespace physarum::weights {
namespace {

namespace fs = std::filesystem;
using physarum::test::ScriptedFileSystem;
using test::FiledStore;
using test::flip;
using test::place_of_frames;

constexpr double sparse_density = FiledStore::sparse_density;

TEST(WeightDirectory, holds_every_version_as_it_was_published) {
  for (const UpdateMode mode : {UpdateMode::full, UpdateMode::delta}) {
    FiledStore filed(mode);
    for (std::int64_t version = 0; version < 12; ++version) {
      filed.publish_and_write(version);
      EXPECT_TRUE(filed.holds(version)) << version;
    }
    EXPECT_EQ(filed.count(0, false), mode == UpdateMode::full ? 0 : 11);
  }
}

TEST(WeightDirectory, what_came_while_nothing_could_be_written_is_bridged_by_a_full_image) {
  FiledStore filed(UpdateMode::delta, 0, 2);
  filed.publish_and_write(0);
  for (std::int64_t version = 1; version < 9; ++version) {
    filed.store.publish(version);
    filed.store.fold_all();
  }
  filed.write_all();
  EXPECT_TRUE(filed.holds(8));
  EXPECT_EQ(filed.count(0, true), 2);
  filed.publish_and_write(11);  // versions may leave numbers out
  EXPECT_TRUE(filed.holds(11));
}

TEST(WeightDirectory, keeps_two_full_images_and_what_follows_the_older) {
  FiledStore filed(UpdateMode::delta, 3);
  for (std::int64_t version = 0; version < 14; ++version) {
    filed.publish_and_write(version);
    for (int part = 0; part < FiledStore::buffers; ++part) {
      EXPECT_LE(filed.count(part, true), 2);
      EXPECT_LE(filed.count(part, false), 4);
    }
    EXPECT_TRUE(filed.holds(version));
  }
}

TEST(WeightDirectory, keeps_the_newest_complete_version_while_a_part_is_late) {
  FiledStore filed(UpdateMode::full);
  filed.publish_and_write(0);
  for (std::int64_t version = 1; version < 6; ++version) {
    filed.store.publish(version);
    filed.write(0);
  }
  EXPECT_TRUE(filed.holds(0));
  filed.write(1);
  EXPECT_TRUE(filed.holds(5));
}

TEST(WeightDirectory, a_chain_of_deltas_does_not_grow_without_end) {
  FiledStore filed(UpdateMode::delta);
  for (std::int64_t version = 0; version < 70; ++version) filed.publish_and_write(version);
  EXPECT_EQ(filed.count(0, true), 2);
  EXPECT_LE(filed.count(0, false), 69);
  EXPECT_TRUE(filed.holds(69));
}

TEST(WeightDirectory, a_version_that_cannot_be_written_is_followed_by_a_full_image) {
  FiledStore filed(UpdateMode::delta);
  filed.publish_and_write(0);
  fs::remove_all(filed.directory);
  filed.publish_and_write(1);
  fs::create_directory(filed.directory);
  filed.publish_and_write(2);
  EXPECT_EQ(filed.count(0, true), 1);
  EXPECT_TRUE(filed.holds(2));
}

/// The steps of a version are: write, sync, rename, sync the directory.
TEST(WeightDirectory, whatever_step_of_a_writer_fails_what_is_there_is_right) {
  using Fault = ScriptedFileSystem::Fault;
  for (const Fault fault : {Fault::refuse, Fault::die}) {
    for (int step = 0; step < 4; ++step) {
      FiledStore filed(UpdateMode::delta);
      filed.publish_and_write(0);
      filed.store.publish(1);
      filed.files.fail_at(step, fault);
      filed.write(0);
      ASSERT_TRUE(filed.files.fired());
      filed.files.fail_at(-1);
      filed.write(1);
      EXPECT_TRUE(filed.holds(step < 3 ? 0 : 1)) << step;
      if (fault == Fault::die) continue;
      for (const auto& entry : fs::directory_iterator(filed.directory)) {
        EXPECT_EQ(entry.path().extension(), ".h5") << entry.path();
      }
      filed.publish_and_write(2);
      EXPECT_EQ(filed.count(0, true), 2);
      EXPECT_TRUE(filed.holds(2));
    }
  }
}

TEST(WeightDirectory, an_older_version_serves_where_the_newest_is_damaged) {
  FiledStore filed(UpdateMode::delta);
  for (std::int64_t version = 0; version < 3; ++version) filed.publish_and_write(version);
  const WeightFileName newest{base::WeightVersion(2), base::WeightVersion(1), 1,
                              FiledStore::buffers};
  const auto path = filed.directory / newest.file_name();
  flip(path, place_of_frames(path) + 40, 3);
  const auto loaded = filed.load();
  EXPECT_TRUE(filed.store.same_as(1, loaded.image, sparse_density));
  ASSERT_EQ(loaded.unusable.size(), 1U);
  EXPECT_NE(loaded.unusable.front().find(newest.file_name()), std::string::npos);
}

/// Whatever happens to a file: an image that is loaded is one that was published.
TEST(WeightDirectory, damage_anywhere_never_gives_a_wrong_image) {
  FiledStore filed(UpdateMode::delta);
  std::map<base::WeightVersion, base::Digest> published;
  for (std::int64_t version = 0; version < 4; ++version) {
    filed.publish_and_write(version);
    const Image image = filed.store.weights.image();
    published[image.version()] = image.digest();
  }
  const auto all = filed.names();
  std::mt19937_64 dice(11);
  std::int64_t noticed = 0;
  for (int attempt = 0; attempt < 60; ++attempt) {
    const auto path = filed.directory / all[dice() % all.size()].file_name();
    const auto kept = filed.directory / "kept";
    fs::copy_file(path, kept);
    const auto bytes = fs::file_size(path);
    // Half of them where HDF5's own data and the attributes are.
    const auto place = dice() % (attempt % 2 == 0 ? bytes : std::min<std::uint64_t>(bytes, 6000));
    if (attempt % 5 == 4) {
      fs::resize_file(path, place);
    } else {
      flip(path, place, static_cast<int>(dice() % 8));
    }
    try {
      const auto loaded = filed.load();
      EXPECT_EQ(loaded.image.digest(), published.at(loaded.image.version())) << path << place;
      noticed += loaded.image.version() == base::WeightVersion(3) ? 0 : 1;
    } catch (const base::UserError&) {
      ++noticed;
    }
    fs::rename(kept, path);
  }
  EXPECT_GT(noticed, 20);
  EXPECT_TRUE(filed.holds(3));
}

/// Its digests are of another kind: compared with today's they would all be wrong.
TEST(WeightDirectory, says_that_a_file_is_of_an_earlier_version) {
  FiledStore filed(UpdateMode::full);
  filed.publish_and_write(0);
  for (const WeightFileName& name : filed.names()) {
    const auto path = filed.directory / name.file_name();
    const std::string all = storage::real_file_system().read_file(path);
    const std::string now("\2\0\0\0\0\0\0\0", 8);
    const auto place = all.find(now, all.find("format_version"));
    ASSERT_NE(place, std::string::npos);
    flip(path, place, 1);
    flip(path, place, 0);
  }
  EXPECT_NE(filed.refusal(filed.store.catalogue).find("earlier version of this program"),
            std::string::npos);
}

TEST(WeightDirectory, says_what_is_missing) {
  FiledStore filed(UpdateMode::full);
  const auto& catalogue = filed.store.catalogue;
  EXPECT_NE(filed.refusal(catalogue).find("holds no weight versions"), std::string::npos);
  filed.publish_and_write(0);
  EXPECT_NE(filed.refusal(test::small_catalogue(TransferType::f32)).find("of another model"),
            std::string::npos);
  EXPECT_NE(filed.refusal(test::small_catalogue(TransferType::bf16, 1000)).find("of another model"),
            std::string::npos);
  const WeightFileName first{base::WeightVersion(0), {}, 0, FiledStore::buffers};
  fs::remove(filed.directory / first.file_name());
  EXPECT_NE(filed.refusal(catalogue).find("no weight version is complete"), std::string::npos);
  remove_weights(storage::real_file_system(), filed.directory);
  EXPECT_TRUE(filed.names().empty());
  fs::remove(filed.directory);
  std::ofstream(filed.directory) << "a file";
  EXPECT_NE(filed.refusal(catalogue).find("the directory cannot be read"), std::string::npos);
  fs::remove(filed.directory);
  EXPECT_NE(filed.refusal(catalogue).find("no such directory"), std::string::npos);
}

TEST(WeightFileName, is_read_from_what_it_gives) {
  for (const WeightFileName& name :
       {WeightFileName{base::WeightVersion(0), {}, 0, 1},
        WeightFileName{base::WeightVersion(7), base::WeightVersion(5), 2, 3}}) {
    const auto read = WeightFileName::from_name(name.file_name());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->file_name(), name.file_name());
  }
  for (const char* name :
       {"", "weights-", "weights-1-full-part-2-of-2.h5", "weights-1-full-part-0-of-1.h5.tmp",
        "weights-01-full-part-0-of-1.h5", "weights-1-after-part-0-of-1.h5",
        "weights-1-after-99999999999999999999-part-0-of-1.h5", "weights-1-full-part--1-of-1.h5",
        "weights-1-full-part-0-of-99999999999.h5", "weights-full-part-0-of-1.h5"}) {
    EXPECT_FALSE(WeightFileName::from_name(name)) << name;
  }
}

}  // namespace
}  // namespace physarum::weights
