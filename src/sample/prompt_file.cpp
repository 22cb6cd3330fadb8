#include "physarum/sample/prompt_file.hpp"

#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "column.hpp"

namespace physarum::sample {

namespace {

using Field = std::string Prompt::*;
constexpr std::pair<const char*, Field> fields[] = {{"text", &Prompt::text},
                                                    {"label", &Prompt::label},
                                                    {"metadata", &Prompt::metadata},
                                                    {"environment", &Prompt::environment}};

std::vector<Prompt> read_prompts(const std::filesystem::path& path) {
  const auto file = storage::File::open_read(path, prompt_format());
  const auto extent = file.info("text/ends").extent;
  const std::size_t rows = extent.size() == 1 ? static_cast<std::size_t>(extent.front()) : 0;
  if (rows == 0) {
    throw base::UserError("the file holds no prompts", path.string(),
                          "make it again with `physarum convert`");
  }
  // The columns are read before anything of `rows` is taken, so a wild row count fails there.
  std::vector<Ragged<std::uint8_t>> columns;
  for (const auto& [name, field] : fields)
    columns.push_back(read_ragged<std::uint8_t>(file, name, rows));
  std::vector<Prompt> prompts(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    prompts[i].id = PromptId(static_cast<std::int64_t>(i));
    for (std::size_t f = 0; f < columns.size(); ++f)
      prompts[i].*(fields[f].second) = as_text(columns[f].row(i));
  }
  return prompts;
}

}  // namespace

storage::Format prompt_format() { return {"physarum.prompts", 1}; }

void write_prompts(storage::File& file, std::span<const Prompt> prompts) {
  for (const auto& [name, field] : fields) {
    Ragged<std::uint8_t> column;
    for (const auto& prompt : prompts) column.append(as_row(prompt.*field));
    write_ragged(file, name, column);
  }
}

FilePromptSource::FilePromptSource(const std::filesystem::path& path)
    : prompts_(read_prompts(path)) {}

FilePromptSource::FilePromptSource(std::vector<Prompt> prompts) : prompts_(std::move(prompts)) {
  base::expects(!prompts_.empty(), "a prompt source holds at least one prompt");
  for (std::size_t i = 0; i < prompts_.size(); ++i)
    prompts_[i].id = PromptId(static_cast<std::int64_t>(i));
}

std::int64_t FilePromptSource::size() const { return static_cast<std::int64_t>(prompts_.size()); }

Prompt FilePromptSource::at(std::int64_t index) const {
  base::expects(index >= 0 && index < size(), "a prompt's index is within its source");
  return prompts_[static_cast<std::size_t>(index)];
}

}  // namespace physarum::sample
