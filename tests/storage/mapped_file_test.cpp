#include "physarum/storage/mapped_file.hpp"

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "support/temporary_directory.hpp"

namespace physarum::storage {
namespace {

std::filesystem::path write(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Call>
void expect_refused(Call call, const std::string& part) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one about: " << part;
  } catch (const base::UserError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(MappedFile, gives_any_range_of_bytes) {
  const test::TemporaryDirectory directory;
  const MappedFile file(write(directory / "f", "0123456789"));
  EXPECT_EQ(file.size(), 10U);
  EXPECT_EQ(text(file.bytes()), "0123456789");
  EXPECT_EQ(text(file.bytes(3, 4)), "3456");
  EXPECT_EQ(text(file.bytes(10, 0)), "");
  EXPECT_EQ(file.path(), directory / "f");
}

TEST(MappedFile, refuses_ranges_outside_the_file) {
  const test::TemporaryDirectory directory;
  const MappedFile file(write(directory / "f", "0123456789"));
  EXPECT_THROW((void)file.bytes(8, 3), base::ContractViolation);
  EXPECT_THROW((void)file.bytes(11, 0), base::ContractViolation);
  EXPECT_THROW((void)file.bytes(2, ~std::uint64_t{0}), base::ContractViolation);
}

TEST(MappedFile, can_be_empty) {
  const test::TemporaryDirectory directory;
  const MappedFile file(write(directory / "f", ""));
  EXPECT_EQ(file.size(), 0U);
  EXPECT_TRUE(file.bytes().empty());
}

TEST(MappedFile, refuses_what_is_no_readable_file) {
  const test::TemporaryDirectory directory;
  expect_refused([&] { const MappedFile file(directory / "none"); }, "none");
  expect_refused([&] { const MappedFile file(directory.path()); }, "regular");
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  expect_refused([&] { const MappedFile file(directory / "pipe"); }, "regular");
}

TEST(MappedFile, notices_that_the_file_has_become_shorter) {
  const test::TemporaryDirectory directory;
  const auto path = write(directory / "f", std::string(100'000, 'x'));
  const MappedFile file(path);
  std::filesystem::resize_file(path, 50'000);
  expect_refused([&] { (void)file.bytes(40'000, 20'000); }, "ended while");
  EXPECT_EQ(text(file.bytes(0, 3)), "xxx");
}

TEST(MappedFile, keeps_its_content_when_another_file_takes_the_name) {
  const test::TemporaryDirectory directory;
  const auto path = write(directory / "f", "old");
  const MappedFile file(path);
  std::filesystem::rename(write(directory / "g", "new one"), path);
  EXPECT_EQ(text(file.bytes()), "old");
}

std::size_t resident_file_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::stoul(line.substr(8));
  }
  return 0;
}

TEST(MappedFile, gives_memory_back_and_reads_again) {
  const test::TemporaryDirectory directory;
  constexpr std::size_t bytes = std::size_t{32} << 20;
  const MappedFile file(write(directory / "f", std::string(bytes, 'x')));
  const auto sum = [&] {
    std::size_t count = 0;
    for (const auto byte : file.bytes()) count += byte == std::byte{'x'} ? 1 : 0;
    return count;
  };
  file.expect(0, bytes);
  EXPECT_EQ(sum(), bytes);
  const auto before = resident_file_kilobytes();
  file.release(1, bytes - 2);
  EXPECT_LT(resident_file_kilobytes() + 30'000, before);
  EXPECT_EQ(sum(), bytes);
}

TEST(MappedFile, moves) {
  const test::TemporaryDirectory directory;
  MappedFile first(write(directory / "f", "abc"));
  const MappedFile second(std::move(first));
  EXPECT_EQ(text(second.bytes()), "abc");
}

}  // namespace
}  // namespace physarum::storage
