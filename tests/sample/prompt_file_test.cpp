#include "physarum/sample/prompt_file.hpp"

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/storage/commit.hpp"

#include "sample/scratch.hpp"

namespace physarum::sample {
namespace {

std::vector<Prompt> prompts() {
  return {{PromptId(0), "2+2=", "", "", "4", R"({"level": 1})", "arithmetic"},
          {PromptId(1), "", "", "", "", "", ""},
          {PromptId(2), "größer als ∞?", "", "", "nein", "{}", "exact_match"},
          {PromptId(3), "", R"([{"role":"user","content":"2+2?"}])", R"([{"name":"add"}])", "4",
           "{}", "last_number"}};
}

void write_file(const std::filesystem::path& path, std::span<const Prompt> rows) {
  storage::commit_file(storage::real_file_system(), path, {}, prompt_format(),
                       [&](storage::File& file) { write_prompts(file, rows); });
}

TEST(PromptFile, gives_back_what_was_written) {
  const testing::Scratch scratch;
  write_file(scratch / "prompts.h5", prompts());
  const FilePromptSource source(scratch / "prompts.h5");
  ASSERT_EQ(source.size(), 4);
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(source.at(i), prompts()[static_cast<std::size_t>(i)]);
  EXPECT_THROW((void)source.at(4), base::ContractViolation);
}

TEST(PromptFile, one_of_version_1_has_texts_alone) {
  const testing::Scratch scratch;
  storage::commit_file(
      storage::real_file_system(), scratch / "old.h5", {}, {prompt_format().name, 1},
      [](storage::File& file) {
        const std::vector<std::uint8_t> values{'a', 'b'};
        const std::vector<std::int64_t> ends = {1, 2};
        for (const std::string name : {"text", "label", "metadata", "environment"}) {
          file.write_concatenated(name + "/values", std::span<const std::uint8_t>(values));
          file.write_concatenated(name + "/ends", std::span<const std::int64_t>(ends));
        }
      });
  const FilePromptSource source(scratch / "old.h5");
  ASSERT_EQ(source.size(), 2);
  EXPECT_EQ(source.at(1), (Prompt{PromptId(1), "b", "", "", "b", "b", "b"}));
}

TEST(PromptFile, a_missing_or_empty_one_is_the_users_error) {
  const testing::Scratch scratch;
  EXPECT_THROW(FilePromptSource(scratch / "none.h5"), base::UserError);
  write_file(scratch / "empty.h5", {});
  EXPECT_THROW(FilePromptSource(scratch / "empty.h5"), base::UserError);
}

TEST(PromptFile, one_of_another_format_is_the_users_error) {
  const testing::Scratch scratch;
  storage::commit_file(storage::real_file_system(), scratch / "other.h5", {}, {"other", 1},
                       [&](storage::File& file) { write_prompts(file, prompts()); });
  EXPECT_THROW(FilePromptSource(scratch / "other.h5"), base::UserError);
}

TEST(PromptFile, row_ends_that_do_not_fit_are_the_users_error) {
  const testing::Scratch scratch;
  storage::commit_file(
      storage::real_file_system(), scratch / "bad.h5", {}, prompt_format(),
      [](storage::File& file) {
        const std::vector<std::uint8_t> values(4, 'x');
        const std::vector<std::int64_t> ends = {3, 2, 4};
        for (const std::string name :
             {"text", "messages", "tools", "label", "metadata", "environment"}) {
          file.write_concatenated(name + "/values", std::span<const std::uint8_t>(values));
          file.write_concatenated(name + "/ends", std::span<const std::int64_t>(ends));
        }
      });
  EXPECT_THROW(FilePromptSource(scratch / "bad.h5"), base::UserError);
}

}  // namespace
}  // namespace physarum::sample
