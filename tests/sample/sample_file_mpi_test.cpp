#include <filesystem>

#include <unistd.h>

#include "physarum/storage/commit.hpp"

#include "physarum/sample/prompt_file.hpp"
#include "physarum/sample/sample_file.hpp"

#include "sample/builders.hpp"
#include "support/mpi_test.hpp"

namespace physarum::sample {
namespace {

/// The same path on all ranks; rank 0 removes it.
std::filesystem::path shared_path(const std::string& name) {
  std::string path;
  if (test::world().rank() == 0) {
    path = (std::filesystem::temp_directory_path() /
            ("physarum_sample_" + std::to_string(::getpid()) + "_" + name))
               .string();
  }
  test::world().broadcast_string(path, 0);
  return path;
}

void remove_together(const std::filesystem::path& path) {
  test::world().barrier();
  if (test::world().rank() == 0) std::filesystem::remove(path);
}

TEST(SampleFileOverRanks, holds_all_ranks_samples_by_id) {
  const auto path = shared_path("samples.h5");
  // Uneven shares: rank r writes groups r, r + size, ... of 5; some ranks may write none.
  std::vector<Sample> mine, all;
  for (std::int64_t group = 0; group < 3; ++group) {
    const auto samples = testing::make_group(group, 3, group).samples;
    all.insert(all.end(), samples.begin(), samples.end());
    if (group % test::world().size() != test::world().rank()) continue;
    mine.insert(mine.end(), samples.begin(), samples.end());
  }
  std::vector<const Sample*> pointers;
  for (const auto& sample : mine) pointers.push_back(&sample);
  storage::commit_file(storage::real_file_system(), path, test::world(), sample_format(),
                       [&](storage::File& file) {
                         write_samples(file, {1, Purpose::train, 2, "v", "c"}, pointers);
                       });
  test::world().barrier();
  EXPECT_EQ(read_samples(path).samples, all);
  remove_together(path);
}

TEST(PromptFileOverRanks, holds_all_ranks_rows_in_rank_order) {
  const auto path = shared_path("prompts.h5");
  const int rank = test::world().rank();
  const std::vector<Prompt> mine(
      static_cast<std::size_t>(rank + 1),
      Prompt{PromptId(), "rank " + std::to_string(rank), "", "", "", "", "e"});
  storage::commit_file(storage::real_file_system(), path, test::world(), prompt_format(),
                       [&](storage::File& file) { write_prompts(file, mine); });
  test::world().barrier();
  const FilePromptSource source(path);
  const int size = test::world().size();
  EXPECT_EQ(source.size(), size * (size + 1) / 2);
  EXPECT_EQ(source.at(source.size() - 1).text, "rank " + std::to_string(size - 1));
  remove_together(path);
}

}  // namespace
}  // namespace physarum::sample
