#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "physarum/storage/file.hpp"

#include "physarum/sample/prompt.hpp"

namespace physarum::sample {

/// prompts.h5: format "physarum.prompts"; docs/formats/prompts.md.
[[nodiscard]] storage::Format prompt_format();

/// Collective over the file's communicator; every rank gives its own rows, in rank order. Use it
/// inside storage::commit_file().
void write_prompts(storage::File& file, std::span<const Prompt> prompts);

/// Prompts of a file, all in memory. Row i has id i.
class FilePromptSource final : public PromptSource {
 public:
  /// This rank alone. Throws UserError if the file is missing, damaged, empty or no prompt file.
  explicit FilePromptSource(const std::filesystem::path& path);
  explicit FilePromptSource(std::vector<Prompt> prompts);

  [[nodiscard]] std::int64_t size() const override;
  [[nodiscard]] Prompt at(std::int64_t index) const override;

 private:
  std::vector<Prompt> prompts_;
};

}  // namespace physarum::sample
