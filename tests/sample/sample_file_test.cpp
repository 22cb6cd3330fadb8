#include "physarum/sample/sample_file.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "physarum/base/error.hpp"

#include "physarum/storage/commit.hpp"

#include "sample/builders.hpp"
#include "sample/scratch.hpp"

namespace physarum::sample {
namespace {

SampleFileHeader header() { return {4, Purpose::train, 17, "physarum 0.1", "seed = 17\n"}; }

void write_file(const std::filesystem::path& path, const SampleFileHeader& head,
                const std::vector<Sample>& samples) {
  std::vector<const Sample*> pointers;
  for (const auto& sample : samples) pointers.push_back(&sample);
  storage::commit_file(storage::real_file_system(), path, {}, sample_format(),
                       [&](storage::File& file) { write_samples(file, head, pointers); });
}

TEST(SampleFile, gives_back_what_was_written) {
  const testing::Scratch scratch;
  const auto samples = testing::make_group(3, 5, 2).samples;
  write_file(scratch / "s.h5", header(), samples);
  const auto content = read_samples(scratch / "s.h5");
  EXPECT_EQ(content.samples, samples);
  EXPECT_EQ(content.header.step, 4);
  EXPECT_EQ(content.header.seed, 17);
  EXPECT_EQ(content.header.program_version, "physarum 0.1");
  EXPECT_EQ(content.header.configuration, "seed = 17\n");
}

TEST(SampleFile, holds_supervised_samples_without_log_probs) {
  const testing::Scratch scratch;
  auto head = header();
  head.purpose = Purpose::supervised;
  auto samples = testing::make_group(3, 2).samples;
  for (auto& sample : samples) sample.log_probs.clear();
  write_file(scratch / "s.h5", head, samples);
  EXPECT_EQ(read_samples(scratch / "s.h5").samples, samples);
}

TEST(SampleFile, may_hold_no_samples) {
  const testing::Scratch scratch;
  write_file(scratch / "s.h5", header(), {});
  EXPECT_TRUE(read_samples(scratch / "s.h5").samples.empty());
}

TEST(SampleFile, a_sample_that_breaks_an_invariant_is_the_users_error) {
  const testing::Scratch scratch;
  auto samples = testing::make_group(3, 2).samples;
  samples[1].mask[0] = 5;
  write_file(scratch / "s.h5", header(), samples);
  EXPECT_THROW((void)read_samples(scratch / "s.h5"), base::UserError);
}

TEST(SampleFile, flipped_bytes_and_cut_files_are_the_users_error) {
  const testing::Scratch scratch;
  write_file(scratch / "s.h5", header(), testing::make_group(3, 8).samples);
  std::ifstream in(scratch / "s.h5", std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  int refused = 0;
  for (std::int64_t round = 0; round < 60; ++round) {
    std::string bytes = good;
    const auto place = static_cast<std::size_t>(
        testing::draw(9, round, 0, 0, static_cast<std::int64_t>(good.size()) - 1));
    if (round % 3 == 0)
      bytes.resize(place);
    else
      bytes[place] = static_cast<char>(bytes[place] ^ 0x41);
    std::ofstream(scratch / "damaged.h5", std::ios::binary | std::ios::trunc) << bytes;
    try {
      // What a flip outside the data leaves alone must still be sound samples.
      for (const auto& sample : read_samples(scratch / "damaged.h5").samples)
        EXPECT_EQ(find_fault(sample, Purpose::train), std::nullopt);
    } catch (const base::UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace physarum::sample
