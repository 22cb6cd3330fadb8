#include "physarum/model/safetensors.hpp"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "physarum/storage/file_system.hpp"

#include "expect_user_error.hpp"
#include "temporary_directory.hpp"

namespace physarum::model {
namespace {

SafetensorsHeader parse(const std::string& json, std::uint64_t data_bytes) {
  return parse_safetensors_header(json, data_bytes, "m.safetensors");
}

/// {"a": {dtype, shape, data_offsets}}
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

TEST(SafetensorsHeader, reads_tensors_in_order_of_offsets) {
  const auto header = parse(R"({"__metadata__":{"format":"pt"},
      "b":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]},
      "a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})",
                            14);
  ASSERT_EQ(header.tensors.size(), 2U);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[0].shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(header.tensors[1].type, ElementType::bf16);
  EXPECT_EQ(header.tensors[1].elements(), 3);
  EXPECT_EQ(header.metadata.at("format"), "pt");
}

TEST(SafetensorsHeader, allows_scalars_and_empty_tensors) {
  EXPECT_EQ(parse(one("F32", "[]", "[0,4]"), 4).tensors[0].elements(), 1);
  EXPECT_EQ(parse(one("F32", "[0,5]", "[0,0]"), 0).tensors[0].elements(), 0);
}

TEST(SafetensorsHeader, refuses_hostile_headers) {
  const std::pair<std::string, std::uint64_t> cases[] = {
      {"", 0},
      {"[]", 0},
      {"{", 0},
      {"{}", 4},  // a hole: data that no tensor explains
      {"{} x", 0},
      {"\xff{}", 0},
      {R"({"a":7})", 0},
      {R"({"":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4},
      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4},
      {R"({"__metadata__":{"format":7}})", 0},
      {R"({"__metadata__":[]})", 0},
      {one("F64", "[1]", "[0,8]"), 8},
      {one("F32", "[1]", "[0,5]"), 5},                      // not what the shape asks
      {one("F32", "[2]", "[0,4]"), 4},                      // too short
      {one("F32", "[1]", "[4,0]"), 4},                      // backwards
      {one("F32", "[1]", "[0,4,8]"), 8},                    // three offsets
      {one("F32", "[1]", "[1,5]"), 5},                      // a hole in front
      {one("F32", "[1]", "[0,4]"), 5},                      // a hole behind
      {one("F32", "[1]", "[0,4]"), 3},                      // beyond the end
      {one("F32", "[-1]", "[0,4]"), 4},                     // negative
      {one("F32", "[1.0]", "[0,4]"), 4},                    // no integer
      {one("F32", "[1e30]", "[0,4]"), 4},                   // no integer either
      {one("F32", "\"1\"", "[0,4]"), 4},                    // no list
      {one("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4},      // nine dimensions
      {one("F32", "[4294967296,4294967296]", "[0,0]"), 0},  // product is 0 modulo 2^64
      {one("F32", "[4611686018427387905]", "[0,4]"), 4},    // times 4 is 4 modulo 2^64
      {one("F32", "[18446744073709551615]", "[0,4]"), 4},   // more than 63 bits
      {one("F32", "[1]", "[18446744073709551612,18446744073709551616]"), 4},
  };
  for (const auto& [json, bytes] : cases) {
    EXPECT_THROW((void)parse(json, bytes), base::UserError) << json;
  }
}

TEST(SafetensorsHeader, refuses_overlap) {
  expect_user_error(
      [] {
        (void)parse(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
            "b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                    12);
      },
      "overlaps");
}

TEST(SafetensorsHeader, refuses_a_name_twice) {
  const std::string info = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  expect_user_error([&] { (void)parse("{\"a\":" + info + ",\"a\":" + info + "}", 4); }, "twice");
  expect_user_error(
      [] {
        (void)parse(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
      },
      "twice");
}

TEST(SafetensorsHeader, refuses_deep_nesting) {
  const std::string deep = "{\"a\":" + std::string(50'000, '[') + std::string(50'000, ']') + "}";
  expect_user_error([&] { (void)parse(deep, 0); }, "deep");
}

TEST(SafetensorsHeader, limits_names) {
  const SafetensorsLimits limits{.name_bytes = 3};
  const auto json = [](const std::string& name) {
    return "{\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  };
  EXPECT_NO_THROW((void)parse_safetensors_header(json("abc"), 4, "f", limits));
  EXPECT_THROW((void)parse_safetensors_header(json("abcd"), 4, "f", limits), base::UserError);
}

std::string file_text(const std::string& json, const std::string& data) {
  const std::uint64_t size = json.size();
  std::string text(sizeof size, '\0');
  std::memcpy(text.data(), &size, sizeof size);
  return text + json + data;
}

TEST(SafetensorsFile, reads_all_types_as_fp32) {
  const TemporaryDirectory directory;
  const std::string json = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
      "b":{"dtype":"BF16","shape":[1],"data_offsets":[4,6]},
      "c":{"dtype":"F16","shape":[2],"data_offsets":[6,10]}})";
  const float a = -2.5F;
  const std::uint16_t bits[] = {0x3FC0, 0x3E00, 0x0001};  // bf16 1.5; f16 1.5 and 2^-24
  std::string data(10, '\0');
  std::memcpy(data.data(), &a, 4);
  std::memcpy(data.data() + 4, bits, 6);
  SafetensorsFile file(directory.write("m.safetensors", file_text(json, data)));
  const auto read = [&](const char* name) {
    const auto* tensor = file.find(name);
    std::vector<float> values(static_cast<std::size_t>(tensor->elements()));
    file.read(*tensor, values);
    return values;
  };
  EXPECT_EQ(read("a"), std::vector<float>{-2.5F});
  EXPECT_EQ(read("b"), std::vector<float>{1.5F});
  EXPECT_EQ(read("c"), (std::vector<float>{1.5F, 0x1p-24F}));
  EXPECT_EQ(file.find("d"), nullptr);
}

TEST(SafetensorsFile, refuses_missing_truncated_and_foreign_files) {
  const TemporaryDirectory directory;
  const auto refuses = [&](const std::string& content, const SafetensorsLimits& limits = {}) {
    const auto path = directory.write("m.safetensors", content);
    expect_user_error([&] { const SafetensorsFile file(path, limits); }, "m.safetensors");
  };
  expect_user_error([&] { const SafetensorsFile file(directory.path() / "none"); }, "none");
  refuses("");
  refuses("1234567");
  refuses(std::string(8, '\xff'));            // header of 2^64 - 1 bytes
  refuses(file_text("{}", "").substr(0, 9));  // header longer than the file
  refuses("a text that is no safetensors file at all");
  const auto good = file_text(one("F32", "[2]", "[0,8]"), std::string(8, 'x'));
  refuses(good.substr(0, good.size() - 1));
  refuses(good + "x");
  refuses(good, {.header_bytes = 10});
}

TEST(SafetensorsFile, reads_ranges) {
  const TemporaryDirectory directory;
  const std::vector<std::int64_t> shape{2, 4};
  const std::vector<float> values{0, 1, 2, 3, 4, 5, 6, 7};
  const TensorView views[] = {{"x", shape, values}};
  for (const auto type : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    const auto path = directory.path() / "m.safetensors";
    write_safetensors(storage::real_file_system(), path, views, type);
    const SafetensorsFile file(path);
    std::vector<float> part(3);
    file.read(*file.find("x"), 3, part);
    EXPECT_EQ(part, (std::vector<float>{3, 4, 5}));
    EXPECT_THROW(file.read(*file.find("x"), 6, part), base::ContractViolation);
  }
}

TEST(SafetensorsFile, notices_when_the_file_shrinks) {
  const TemporaryDirectory directory;
  const auto path = directory.write(
      "m.safetensors", file_text(one("F32", "[100000]", "[0,400000]"), std::string(400'000, 'x')));
  SafetensorsFile file(path);
  std::filesystem::resize_file(path, 200'000);
  std::vector<float> values(100'000);
  expect_user_error([&] { file.read(*file.find("a"), values); }, "ended while");
}

TEST(WriteSafetensors, writes_what_is_read_back) {
  const TemporaryDirectory directory;
  const std::vector<std::int64_t> shape{2, 3};
  const std::vector<float> values{1.0F, -0.0F, 1e-40F, 3.1415927F, -1e30F, 0.1F};
  const std::vector<float> large(100'000, 0.5F);
  const std::vector<std::int64_t> large_shape{100'000};
  const auto path = directory.path() / "m.safetensors";
  const TensorView views[] = {{"x", shape, values}, {"large", large_shape, large}};
  write_safetensors(storage::real_file_system(), path, views, ElementType::f32);
  SafetensorsFile file(path);
  EXPECT_EQ(file.header().metadata.at("format"), "pt");
  EXPECT_EQ(file.header().data_begin % 8, 0U);
  EXPECT_EQ(file.find("x")->shape, shape);
  std::vector<float> read(6);
  file.read(*file.find("x"), read);
  EXPECT_EQ(std::memcmp(read.data(), values.data(), 24), 0);
  std::vector<float> read_large(100'000);
  file.read(*file.find("large"), read_large);
  EXPECT_EQ(read_large, large);
}

TEST(WriteSafetensors, rounds_to_bf16_if_asked) {
  const TemporaryDirectory directory;
  const std::vector<std::int64_t> shape{1};
  const std::vector<float> value{1.001F};
  const auto path = directory.path() / "m.safetensors";
  const TensorView views[] = {{"x", shape, value}};
  write_safetensors(storage::real_file_system(), path, views, ElementType::bf16);
  SafetensorsFile file(path);
  EXPECT_EQ(file.find("x")->type, ElementType::bf16);
  std::vector<float> read(1);
  file.read(*file.find("x"), read);
  EXPECT_EQ(read[0], 1.0F);
}

TEST(WriteSafetensors, writes_f16_if_it_can) {
  const TemporaryDirectory directory;
  const std::vector<std::int64_t> shape{3};
  const std::vector<float> values{1.0004883F, 65504.0F, std::numeric_limits<float>::infinity()};
  const auto path = directory.path() / "m.safetensors";
  const TensorView views[] = {{"x", shape, values}};
  write_safetensors(storage::real_file_system(), path, views, ElementType::f16);
  SafetensorsFile file(path);
  EXPECT_EQ(file.find("x")->type, ElementType::f16);
  std::vector<float> read(3);
  file.read(*file.find("x"), read);
  EXPECT_EQ(read, (std::vector<float>{1.0F, 65504.0F, values[2]}));
  const std::vector<float> large{0.0F, 1e5F, 0.0F};
  const TensorView bad[] = {{"x", shape, large}};
  const auto other = directory.path() / "n.safetensors";
  expect_user_error(
      [&] { write_safetensors(storage::real_file_system(), other, bad, ElementType::f16); },
      "'x' has values that f16 cannot hold");
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST(WriteSafetensors, leaves_nothing_behind_when_it_fails) {
  const TemporaryDirectory directory;
  const std::vector<std::int64_t> shape{1};
  const std::vector<float> value{1.0F};
  const TensorView views[] = {{"x", shape, value}};
  EXPECT_THROW(
      write_safetensors(storage::real_file_system(), directory.path() / "missing" / "m.safetensors",
                        views, ElementType::f32),
      base::WorldError);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace physarum::model
