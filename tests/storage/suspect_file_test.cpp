// Every file that is not what it should be gives one UserError: what, where, how to mend.

#include <fstream>

#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include "physarum/base/error.hpp"

#include "physarum/storage/file.hpp"

#include "storage/alone.hpp"
#include "support/temporary_directory.hpp"

namespace physarum::storage {
namespace {

const Format suspect_format{"physarum.test", 3};

std::string refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const base::UserError& error) {
    return error.what();
  }
  return "accepted";
}

class SuspectFile : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path() const { return directory_ / "a.h5"; }
  [[nodiscard]] std::string opening(const Format& wanted = suspect_format) const {
    return refusal([&] { (void)File::open_read(path(), wanted); });
  }
  void write_bytes(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
  }
  void write_good() const {
    File file = File::create(path(), alone, suspect_format);
    std::vector<float> values(5000, 1.5f);
    file.write_dataset<float>("values", {1000, 5}, 0, values);
    file.set_attribute("", "step", std::int64_t{7});
    file.close();
  }
  /// Opens with plain HDF5, as another program would.
  [[nodiscard]] hid_t foreign() const { return H5Fopen(path().c_str(), H5F_ACC_RDWR, H5P_DEFAULT); }
  [[nodiscard]] std::string reading(const char* name) const {
    const auto text = refusal([&] {
      (void)File::open_read(path(), suspect_format).read_dataset<float>(name, Extent{1000, 5});
    });
    EXPECT_EQ(text.find('\n'), text.npos);
    return text;
  }
  void expect_part(const std::string& text, const std::string& part) const {
    EXPECT_NE(text.find(part), text.npos) << text;
  }

 private:
  test::TemporaryDirectory directory_;
};

TEST_F(SuspectFile, missing) {
  expect_part(opening(), path().string() + ": there is no such file; check the path");
}

TEST_F(SuspectFile, a_directory) {
  std::filesystem::create_directory(path());
  expect_part(opening(), "this is not a file");
}

TEST_F(SuspectFile, empty) {
  write_bytes("");
  expect_part(opening(), "the file is empty");
}

TEST_F(SuspectFile, no_hdf5) {
  write_bytes("{\"prompt\": \"1+1=\"}\n");
  expect_part(opening(), "this is not an HDF5 file");
  write_bytes("x");
  expect_part(opening(), "this is not an HDF5 file");
}

TEST_F(SuspectFile, unreadable) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  write_good();
  std::filesystem::permissions(path(), std::filesystem::perms::none);
  expect_part(opening(), "Permission denied");
}

TEST_F(SuspectFile, truncated_anywhere) {
  write_good();
  const auto size = std::filesystem::file_size(path());
  for (int sixteenth = 1; sixteenth < 16; ++sixteenth) {
    write_good();
    std::filesystem::resize_file(path(), size * static_cast<unsigned>(sixteenth) / 16);
    expect_part(opening(), "the file is damaged or was not finished");
  }
}

TEST_F(SuspectFile, cut_after_the_signature) {
  write_bytes("\x89HDF\r\n\x1a\n");
  expect_part(opening(), "the file is damaged or was not finished");
}

TEST_F(SuspectFile, of_another_format) {
  write_good();
  expect_part(opening({"physarum.samples", 1}),
              "this is a 'physarum.test' file, not a 'physarum.samples' file");
}

TEST_F(SuspectFile, without_format) {
  H5Fclose(H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  expect_part(opening(), "a file that does not say its format");
}

TEST_F(SuspectFile, of_a_newer_version) {
  write_good();
  expect_part(opening({"physarum.test", 2}),
              "'physarum.test' version 3 is not known here (newest: 2); use the Physarum");
  EXPECT_EQ(opening({"physarum.test", 4}), "accepted");  // an older one is read
}

TEST_F(SuspectFile, with_a_format_of_a_wrong_type) {
  write_good();
  const hid_t file = foreign();
  H5Adelete(file, "format");
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  const hid_t attribute = H5Acreate2(file, "format", type, space, H5P_DEFAULT, H5P_DEFAULT);
  const char* text = "physarum.test";
  H5Awrite(attribute, type, &text);
  H5Aclose(attribute);
  H5Tclose(type);
  H5Sclose(space);
  H5Fclose(file);
  expect_part(opening(), "variable-length string, not a fixed-length string");
}

TEST_F(SuspectFile, without_the_dataset_or_attribute) {
  write_good();
  expect_part(reading("weights"), path().string() + ":weights: the file has no such object");
  expect_part(reading("values/deeper"), "the file has no such object");
  const File file = File::open_read(path(), suspect_format);
  expect_part(refusal([&] { (void)file.integer_attribute("", "lr"); }),
              "the attribute 'lr' is missing");
  expect_part(refusal([&] { (void)file.string_attribute("", "step"); }),
              "is int64, not a fixed-length string");
  expect_part(refusal([&] { (void)file.integer_attribute("", "format"); }), "not an integer");
  expect_part(refusal([&] { (void)file.list("values"); }), "this is not a group");
  expect_part(refusal([&] { (void)file.info(""); }), "this is not a dataset");
}

TEST_F(SuspectFile, with_another_type_rank_or_extent) {
  write_good();
  const File file = File::open_read(path(), suspect_format);
  const auto as = [&]<class T>(T, const Extent& extent) {
    return refusal([&] { (void)file.read_dataset<T>("values", extent); });
  };
  expect_part(as(1.0, {1000, 5}), "it holds float32, not float64");
  expect_part(as(std::int32_t{}, {1000, 5}), "it holds float32, not int32");
  expect_part(as(1.0f, {5000}), "its extent is 1000 x 5, expected 5000");
  expect_part(as(1.0f, {1000, 6}), "its extent is 1000 x 5, expected 1000 x 6");
  std::vector<float> rows(10);
  expect_part(refusal([&] { file.read_rows<float>("values", 999, rows); }),
              "it has 1000 rows, not 1001");
  expect_part(refusal([&] { file.read_dataset_into<float>("values", rows); }),
              "it holds 20000 bytes, expected 40");
}

/// What a foreign program might put in the place of a dataset.
class ForeignDataset : public SuspectFile {
 protected:
  [[nodiscard]] std::string reading_foreign(hid_t type, const std::vector<hsize_t>& extent,
                                            const std::function<void(hid_t creation)>& prepare) {
    write_good();
    const hid_t file = foreign();
    const hid_t space = H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    prepare(creation);
    const hid_t dataset =
        H5Dcreate2(file, "foreign", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    EXPECT_GE(dataset, 0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
    H5Fclose(file);
    return reading("foreign");
  }
  static void nothing(hid_t) {}
};

TEST_F(ForeignDataset, of_an_absurd_extent) {
  // 2^60 floats that were never written: accepted by HDF5, and a reader would ask for 4 EiB.
  expect_part(reading_foreign(H5T_IEEE_F32LE, {1ULL << 40, 1ULL << 20}, nothing),
              "bytes that are not in the file");
  expect_part(reading_foreign(H5T_IEEE_F32LE, {1ULL << 40, 1ULL << 40}, nothing),
              "its extent is beyond all bounds");
}

TEST_F(ForeignDataset, never_written) {
  expect_part(reading_foreign(H5T_IEEE_F32LE, {1000, 5}, nothing),
              "it claims 20000 bytes that are not in the file");
  expect_part(reading_foreign(H5T_IEEE_F32LE, {1000, 5},
                              [](hid_t creation) {
                                const hsize_t chunk[] = {100, 5};
                                H5Pset_chunk(creation, 2, chunk);
                              }),
              "it claims 20000 bytes that are not in the file");
}

TEST_F(ForeignDataset, compressed) {
  expect_part(reading_foreign(H5T_IEEE_F32LE, {1000, 5},
                              [](hid_t creation) {
                                const hsize_t chunk[] = {100, 5};
                                H5Pset_chunk(creation, 2, chunk);
                                H5Pset_shuffle(creation);
                              }),
              "it is compressed, which Physarum does not read; write it without compression");
}

TEST_F(ForeignDataset, in_other_files) {
  expect_part(
      reading_foreign(H5T_IEEE_F32LE, {1000, 5},
                      [](hid_t creation) { H5Pset_external(creation, "/etc/passwd", 0, 20'000); }),
      "its data lies in other files");
}

TEST_F(ForeignDataset, of_foreign_types) {
  expect_part(reading_foreign(H5T_IEEE_F32BE, {1000, 5}, nothing), "a big-endian 32-bit number");
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, H5T_VARIABLE);
  expect_part(reading_foreign(text, {1000, 5}, nothing), "it holds a variable-length string");
  const hid_t list = H5Tvlen_create(H5T_NATIVE_INT);
  expect_part(reading_foreign(list, {1000, 5}, nothing), "it holds a variable-length list");
  H5Tclose(text);
  H5Tclose(list);
}

TEST_F(SuspectFile, with_links_out_of_itself) {
  write_good();
  const hid_t file = foreign();
  H5Lcreate_external("/etc/passwd", "/x", file, "outside", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/values", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  expect_part(reading("outside"), "the file has no such object");
  expect_part(reading("soft"), "the file has no such object");
  EXPECT_EQ(File::open_read(path(), suspect_format).datasets(), std::vector<std::string>{"values"});
}

TEST_F(SuspectFile, with_groups_in_a_circle) {
  write_good();
  const hid_t file = foreign();
  H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Lcreate_hard(file, "/g", file, "/g/again", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  EXPECT_EQ(File::open_read(path(), suspect_format).datasets(), std::vector<std::string>{"values"});
}

TEST_F(SuspectFile, that_cannot_be_written) {
  const auto text = refusal([] { (void)File::create("/nonexistent/a.h5", alone, suspect_format); });
  expect_part(text, "/nonexistent/a.h5: the file cannot be written: No such file or directory");
}

}  // namespace
}  // namespace physarum::storage
