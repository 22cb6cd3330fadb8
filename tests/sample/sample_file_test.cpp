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

std::vector<Sample> cut_samples() {
  auto samples = testing::make_group(3, 5, 2).samples;
  // One of them was drawn from whole distributions.
  for (const std::size_t i : {0U, 1U, 3U, 4U}) samples[i] = testing::with_nuclei(samples[i]);
  return samples;
}

TEST(SampleFile, holds_the_ids_that_tokens_were_drawn_from) {
  const testing::Scratch scratch;
  write_file(scratch / "s.h5", header(), cut_samples());
  EXPECT_EQ(read_samples(scratch / "s.h5").samples, cut_samples());
}

TEST(SampleFile, nuclei_that_break_a_rule_are_the_users_error) {
  const testing::Scratch scratch;
  const auto refused = [&](auto spoil) {
    auto samples = cut_samples();
    spoil(samples[1].nuclei);
    write_file(scratch / "s.h5", header(), samples);
    EXPECT_THROW((void)read_samples(scratch / "s.h5"), base::UserError);
  };
  refused([](auto& nuclei) { nuclei.ids[0] = -1; });
  refused([](auto& nuclei) { nuclei.ids.push_back(100000); });
  refused([](auto& nuclei) { nuclei.ends.pop_back(); });
  refused([](auto& nuclei) {
    for (auto& id : nuclei.ids) id += 1000;
  });
}

std::vector<Sample> top_samples() {
  auto samples = testing::make_group(3, 5, 2).samples;
  // One has none, as answers that were resumed from an older run.
  for (const std::size_t i : {0U, 1U, 2U, 4U}) samples[i] = testing::with_top_log_probs(samples[i]);
  return samples;
}

TEST(SampleFile, holds_the_likeliest_tokens_with_their_log_probs) {
  const testing::Scratch scratch;
  write_file(scratch / "s.h5", header(), top_samples());
  EXPECT_EQ(read_samples(scratch / "s.h5").samples, top_samples());
}

TEST(SampleFile, top_log_probs_that_break_a_rule_are_the_users_error) {
  const testing::Scratch scratch;
  const auto refused = [&](auto spoil) {
    auto samples = top_samples();
    spoil(samples[1].top_log_probs);
    write_file(scratch / "s.h5", header(), samples);
    EXPECT_THROW((void)read_samples(scratch / "s.h5"), base::UserError);
  };
  refused([](auto& top) { top.ids[0] = -7; });
  refused([](auto& top) { top.ids.pop_back(); });
  refused([](auto& top) { top.log_probs.push_back(-1); });
  refused([](auto& top) { top.log_probs[0] = 2; });
  refused([](auto& top) {
    top.ids.assign(top.ids.size() * 1000, 1);
    top.log_probs.assign(top.ids.size(), -1);
  });
}

template <class T>
void copy_as(const storage::File& from, const std::string& name, storage::File& to) {
  if (from.info(name).element != storage::element_of<T>()) return;
  to.write_concatenated<T>(name, from.read_dataset<T>(name));
}

/// What `version` had.
void write_old(int version, const std::filesystem::path& from, const std::filesystem::path& path) {
  const auto file = storage::File::open_read(from, sample_format());
  storage::commit_file(storage::real_file_system(), path, {}, {"physarum.samples", version},
                       [&](storage::File& old) {
                         old.set_attribute("", "step", file.integer_attribute("", "step"));
                         old.set_attribute("", "seed", file.integer_attribute("", "seed"));
                         for (const char* name : {"purpose", "program_version"})
                           old.set_attribute("", name,
                                             std::string_view(file.string_attribute("", name)));
                         old.write_text("configuration", file.read_text("configuration"));
                         for (const auto& name : file.datasets()) {
                           if (name == "configuration" || name.starts_with("top_log_probs"))
                             continue;
                           if (version < 2 && name.starts_with("nuclei")) continue;
                           copy_as<std::int64_t>(file, name, old);
                           copy_as<std::uint64_t>(file, name, old);
                           copy_as<std::int32_t>(file, name, old);
                           copy_as<std::uint8_t>(file, name, old);
                           copy_as<float>(file, name, old);
                           copy_as<double>(file, name, old);
                         }
                       });
}

TEST(SampleFile, files_of_earlier_versions_are_still_read) {
  for (const int version : {1, 2}) {
    const testing::Scratch scratch;
    const auto samples = version == 1 ? testing::make_group(3, 5, 2).samples : cut_samples();
    write_file(scratch / "new.h5", header(), samples);
    write_old(version, scratch / "new.h5", scratch / "old.h5");
    EXPECT_EQ(storage::File::open_any(scratch / "old.h5").format().version, version);
    EXPECT_EQ(read_samples(scratch / "old.h5").samples, samples);
  }
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
  write_file(scratch / "s.h5", header(), cut_samples());
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
