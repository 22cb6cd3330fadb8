#include "physarum/model/gguf.hpp"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "expect_user_error.hpp"
#include "gguf_builder.hpp"
#include "temporary_directory.hpp"

namespace physarum::model {
namespace {

using B = GgufBuilder;

GgufHeader parse(const B& file, const GgufLimits& limits = {}) {
  return parse_gguf_header(file.bytes(), "m.gguf", limits);
}

void refuses(const B& file, std::string_view part, const GgufLimits& limits = {}) {
  expect_user_error([&] { (void)parse(file, limits); }, part);
  expect_user_error([&] { (void)parse(file, limits); }, "m.gguf");
}

/// One tensor of 4 x 8 f32 and what `entries` writes.
B one_tensor(std::uint64_t entries = 0, const std::function<void(B&)>& write = {}) {
  B file;
  file.head(1, entries);
  if (write) write(file);
  return file.tensor("a", {8, 4}, 0, 0).pad().data(128);
}

TEST(Gguf, reads_values_of_all_types) {
  B file;
  file.head(0, 13);
  file.key("u8", B::u8).put<std::uint8_t>(200).key("i8", B::i8).put<std::int8_t>(-3);
  file.key("u16", B::u16).put<std::uint16_t>(60000).key("i16", B::i16).put<std::int16_t>(-300);
  file.key("u32", B::u32).put<std::uint32_t>(4'000'000'000).key("i32", B::i32).put(-7);
  file.key("u64", B::u64).put(std::numeric_limits<std::uint64_t>::max());
  file.key("i64", B::i64).put(std::int64_t{-1});
  file.key("f32", B::f32).put(1e-5F).key("f64", B::f64).put(0.25);
  file.key("yes", B::boolean).put<std::uint8_t>(1).entry("text", "a\nb");
  file.key("list", B::array).put<std::uint32_t>(B::string).put<std::uint64_t>(2);
  file.put_text("x").put_text("yz");
  const auto header = parse(file);
  EXPECT_EQ(header.count("u8", "f"), 200);
  EXPECT_EQ(std::get<std::int64_t>(header.metadata.at("i8")), -3);
  EXPECT_EQ(header.count("u16", "f"), 60000);
  EXPECT_EQ(std::get<std::int64_t>(header.metadata.at("i16")), -300);
  EXPECT_EQ(header.count("u32", "f"), 4'000'000'000);
  EXPECT_EQ(std::get<std::int64_t>(header.metadata.at("i32")), -7);
  EXPECT_EQ(std::get<std::uint64_t>(header.metadata.at("u64")), ~std::uint64_t{0});
  EXPECT_EQ(header.number("f32", "f"), 1e-5);
  EXPECT_EQ(header.number("f64", "f"), 0.25);
  EXPECT_EQ(header.flag("yes", "f"), true);
  EXPECT_EQ(*header.text("text", "f"), "a\nb");
  EXPECT_EQ(*header.texts("list", "f"), (std::vector<std::string>{"x", "yz"}));
  EXPECT_EQ(header.text("none", "f"), nullptr);
  EXPECT_EQ(header.count("none", "f"), std::nullopt);
}

TEST(Gguf, names_values_of_another_type) {
  const auto header = parse(B().head(0, 1).entry("k", "text"));
  expect_user_error([&] { (void)header.count("k", "f"); }, "'k' is not an integer");
  expect_user_error([&] { (void)header.number("k", "f"); }, "floating");
  expect_user_error([&] { (void)header.flag("k", "f"); }, "true or false");
  expect_user_error([&] { (void)header.texts("k", "f"); }, "array of strings");
  expect_user_error([&] { (void)header.integers("k", "f"); }, "array of integers");
  const auto negative = parse(B().head(0, 1).key("k", B::i32).put(-1));
  expect_user_error([&] { (void)negative.count("k", "f"); }, "'k' is not an integer");
  expect_user_error([&] { (void)negative.text("k", "f"); }, "string");
}

TEST(Gguf, reads_tensors_in_order_of_places) {
  B file;
  file.head(2, 1).entry("general.alignment", 64U);
  file.tensor("b", {32, 2}, 8, 64).tensor("a", {3}, 1, 0);
  const auto header = parse(file.pad(64).data(64 + 68));
  ASSERT_EQ(header.tensors.size(), 2U);
  EXPECT_EQ(header.alignment, 64U);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[0].type, BlockType::f16);
  EXPECT_EQ(header.tensors[0].begin, header.data_begin);
  EXPECT_EQ(header.tensors[1].shape, (std::vector<std::int64_t>{2, 32}));
  EXPECT_EQ(header.tensors[1].end - header.tensors[1].begin, 68U);
  EXPECT_EQ(header.find("b"), &header.tensors[1]);
  EXPECT_EQ(header.find("c"), nullptr);
}

TEST(Gguf, refuses_foreign_files_and_versions) {
  refuses(B(), "not a GGUF");
  refuses(B().raw("GGU"), "not a GGUF");
  refuses(B().raw("GGML").put<std::uint32_t>(3), "not a GGUF");
  refuses(B().raw("GGUF"), "ends within the version");
  refuses(B().head(0, 0, 1), "version 1");
  refuses(B().head(0, 0, 4), "version 4");
  refuses(B().head(0, 0, 0x03000000), "big-endian");
  EXPECT_EQ(parse(B().head(0, 0, 2)).version, 2U);
}

TEST(Gguf, refuses_a_file_cut_anywhere) {
  B file;
  file.head(1, 3).entry("general.architecture", "llama").entry("n", 7U);
  file.key("l", B::array).put<std::uint32_t>(B::u16).put<std::uint64_t>(2);
  file.put<std::uint16_t>(1).put<std::uint16_t>(2);
  file.tensor("a", {32}, 2, 0).pad().data(18);
  EXPECT_NO_THROW((void)parse(file));
  for (std::size_t size = 0; size < file.text().size(); ++size) {
    EXPECT_THROW((void)parse(B().raw(file.text().substr(0, size))), base::UserError) << size;
  }
}

TEST(Gguf, refuses_lengths_beyond_the_file) {
  constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
  refuses(B().head(huge, 0), "list of tensors");
  refuses(B().head(1000, 0), "more items than the file");
  refuses(B().head(0, huge), "metadata");
  refuses(B().head(0, 1000), "more items than the file");
  refuses(B().head(0, 1).put(huge).raw("abcdefghijklm"), "key is");
  refuses(B().head(0, 1).put(std::uint64_t{500}).raw("abcdefghijklm"),
          "ends within a metadata key");
  refuses(B().head(0, 1).key("k", B::string).put(huge), "value of 'k'");
  refuses(B().head(0, 1).key("k", B::string).put(std::uint64_t{100}), "ends within");
  for (const auto type : {B::u8, B::u64, B::f32, B::string, B::boolean}) {
    const auto list = [&](std::uint64_t count) {
      return B().head(0, 1).key("k", B::array).put<std::uint32_t>(type).put(count).data(64);
    };
    refuses(list(huge), "items, at most");
    refuses(list(65), "more items than the file has bytes");
  }
}

TEST(Gguf, limits_what_it_takes) {
  refuses(B().head(0, 2).entry("a", 1U).entry("b", 1U), "2 items", {.entries = 1});
  refuses(B().head(0, 1).entry("abc", 1U), "3 bytes long", {.name_bytes = 2});
  refuses(B().head(0, 1).entry("a", "abc"), "3 bytes long", {.string_bytes = 2});
  refuses(one_tensor(), "1 items", {.tensors = 0});
}

TEST(Gguf, refuses_damaged_metadata) {
  refuses(B().head(0, 2).entry("k", 1U).entry("k", 2U), "'k' is there twice");
  refuses(B().head(0, 1).entry("", 1U), "key is empty");
  refuses(B().head(0, 1).entry("\xff", 1U), "not valid UTF-8");
  refuses(B().head(0, 1).entry("k", "\xed\xa0\x80"), "not valid UTF-8");
  refuses(B().head(0, 1).put_text("k").put<std::uint32_t>(13).data(8), "unknown type 13");
  refuses(B().head(0, 1).key("k", B::boolean).put<std::uint8_t>(2), "neither true nor false");
  refuses(B().head(0, 1).key("k", B::array).put<std::uint32_t>(B::array).put<std::uint64_t>(0),
          "array of arrays");
  refuses(B().head(0, 1)
              .key("k", B::array)
              .put<std::uint32_t>(B::u64)
              .put<std::uint64_t>(1)
              .put(~std::uint64_t{0}),
          "above 2^63");
}

TEST(Gguf, refuses_bad_alignments) {
  for (const std::uint32_t alignment : {0U, 3U, 48U, 1U << 31}) {
    refuses(one_tensor(1, [&](B& file) { file.entry("general.alignment", alignment); }),
            "general.alignment");
  }
  refuses(one_tensor(1, [](B& file) { file.entry("general.alignment", "32"); }),
          "general.alignment");
  EXPECT_NO_THROW((void)parse(one_tensor(1, [](B& file) { file.entry("general.alignment", 8U); })));
}

TEST(Gguf, refuses_damaged_tensors) {
  const auto with = [](const std::vector<std::uint64_t>& shape, std::uint32_t type,
                       std::uint64_t offset) {
    return B().head(1, 0).tensor("t.x", shape, type, offset).pad().data(64);
  };
  EXPECT_NO_THROW((void)parse(with({16}, 0, 0)));
  refuses(with({17}, 0, 0), "'t.x' lies beyond");
  refuses(with({16}, 0, 32), "'t.x' lies beyond");
  refuses(with({1}, 0, 16), "alignment");
  refuses(with({1}, 0, ~std::uint64_t{0} - 31), "beyond");
  refuses(with({1}, 0, std::uint64_t{1} << 63), "beyond");
  refuses(with({}, 0, 0), "0 dimensions");
  refuses(with({1, 1, 1, 1, 1}, 0, 0), "5 dimensions");
  refuses(with({0}, 0, 0), "extent of 0");
  refuses(with({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0, 0), "extent");  // 0 mod 2^64
  refuses(with({~std::uint64_t{0}}, 0, 0), "extent");
  refuses(with({(std::uint64_t{1} << 62) + 1}, 0, 0), "extent");  // times 4 is 4 mod 2^64
  refuses(with({31}, 8, 0), "whole blocks of Q8_0");
  refuses(with({128, 2}, 12, 0), "whole blocks of Q4_K");
  refuses(with({32}, 13, 0), "type Q5_K");
  refuses(with({32}, 4, 0), "unknown type 4");
  refuses(with({32}, 99, 0), "unknown type 99");
  refuses(B().head(1, 0).tensor("", {1}, 0, 0).pad().data(64), "no name");
}

TEST(Gguf, refuses_tensors_twice_and_overlapping) {
  B twice;
  refuses(twice.head(2, 0).tensor("a", {8}, 0, 0).tensor("a", {8}, 0, 32).pad().data(64),
          "'a' is there twice");
  B overlap;
  refuses(overlap.head(2, 0).tensor("a", {16}, 0, 0).tensor("b", {8}, 0, 32).pad().data(96),
          "'b' overlaps");
  B same;
  refuses(same.head(2, 0).tensor("a", {8}, 0, 0).tensor("b", {8}, 0, 0).pad().data(96), "overlaps");
}

TEST(GgufFile, reads_ranges_and_notices_when_the_file_shrinks) {
  const TemporaryDirectory directory;
  B file;
  file.head(1, 0).tensor("a", {4, 2}, 0, 0).pad();
  for (int i = 0; i < 8; ++i) file.put(static_cast<float>(i));
  const auto path = directory.write("m.gguf", file.text());
  const GgufFile gguf(path);
  std::vector<float> part(3);
  gguf.read(gguf.header().tensors[0], 2, part);
  EXPECT_EQ(part, (std::vector<float>{2, 3, 4}));
  std::filesystem::resize_file(path, file.text().size() - 4);
  expect_user_error([&] { gguf.read(gguf.header().tensors[0], 5, part); }, "ended while");
  expect_user_error([&] { const GgufFile none(directory.path() / "none.gguf"); }, "none.gguf");
}

}  // namespace
}  // namespace physarum::model
