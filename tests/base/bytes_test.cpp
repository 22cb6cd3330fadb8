#include "physarum/base/bytes.hpp"

#include <gtest/gtest.h>

namespace physarum::base {
namespace {

TEST(Bytes, come_back_as_they_were_written) {
  ByteWriter writer;
  writer.put<std::int64_t>(-3);
  writer.put(SampleId(9));
  writer.put_string("täg");
  writer.put_vector(std::vector<float>{1.5F, -0.0F});
  const Bytes bytes = writer.take();
  ByteReader reader(bytes);
  EXPECT_EQ(reader.get<std::int64_t>(), -3);
  EXPECT_EQ(reader.get<SampleId>(), SampleId(9));
  EXPECT_EQ(reader.get_string(), "täg");
  EXPECT_EQ(reader.get_vector<float>(), (std::vector<float>{1.5F, -0.0F}));
  EXPECT_NO_THROW(reader.finish());
}

TEST(Bytes, refuse_every_truncation) {
  ByteWriter writer;
  writer.put<std::int32_t>(1);
  writer.put_string("hello");
  const Bytes bytes = writer.take();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ByteReader reader(std::span<const std::byte>(bytes).first(size));
    EXPECT_THROW(
        {
          (void)reader.get<std::int32_t>();
          (void)reader.get_string();
        },
        MalformedBytes);
  }
}

TEST(Bytes, refuse_a_length_beyond_the_record_before_taking_memory) {
  ByteWriter writer;
  writer.put<std::uint64_t>(std::uint64_t{1} << 62);
  const Bytes bytes = writer.take();
  ByteReader reader(bytes);
  EXPECT_THROW((void)reader.get_vector<double>(), MalformedBytes);
}

TEST(Bytes, refuse_what_follows_the_end) {
  ByteWriter writer;
  writer.put<char>('a');
  const Bytes bytes = writer.take();
  EXPECT_THROW(ByteReader(bytes).finish(), MalformedBytes);
}

}  // namespace
}  // namespace physarum::base
