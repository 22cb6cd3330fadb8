#include "physarum/sample/prompt_file.hpp"

#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "column.hpp"

namespace physarum::sample {

namespace {

using Field = std::string Prompt::*;
/// A column of the file and the version that brought it.
struct Column {
  const char* name;
  Field field;
  std::int64_t since;
};
constexpr Column columns_of_file[] = {
    {"text", &Prompt::text, 1},         {"messages", &Prompt::messages, 2},
    {"tools", &Prompt::tools, 2},       {"label", &Prompt::label, 1},
    {"metadata", &Prompt::metadata, 1}, {"environment", &Prompt::environment, 1}};

std::vector<Prompt> read_prompts(const std::filesystem::path& path) {
  const auto file = storage::File::open_read(path, prompt_format());
  const auto extent = file.info("text/ends").extent;
  const std::size_t rows = extent.size() == 1 ? static_cast<std::size_t>(extent.front()) : 0;
  if (rows == 0) {
    throw base::UserError("the file holds no prompts", path.string(),
                          "make it again with `physarum convert`");
  }
  // The columns are read before anything of `rows` is taken, so a wild row count fails there.
  std::vector<Prompt> prompts;
  const std::int64_t version = file.format().version;
  for (const auto& [name, field, since] : columns_of_file) {
    if (since > version) continue;
    const auto column = read_ragged<std::uint8_t>(file, name, rows);
    prompts.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) prompts[i].*field = as_text(column.row(i));
  }
  for (std::size_t i = 0; i < rows; ++i) prompts[i].id = PromptId(static_cast<std::int64_t>(i));
  return prompts;
}

}  // namespace

storage::Format prompt_format() { return {"physarum.prompts", 2}; }

void write_prompts(storage::File& file, std::span<const Prompt> prompts) {
  for (const auto& [name, field, since] : columns_of_file) {
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
