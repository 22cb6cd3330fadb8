#include "run_directory.hpp"

#include "physarum/base/error.hpp"

#include "physarum/storage/commit.hpp"
#include "physarum/storage/file_system.hpp"

namespace physarum::app {

namespace {

/// Names that only a run writes: their presence makes a directory an earlier run.
bool holds_a_run(storage::FileSystem& files, const std::filesystem::path& directory) {
  return files.exists(directory / "summary.json") || files.exists(directory / "metrics.jsonl") ||
         files.exists(directory / "config.toml");
}

std::filesystem::path free_name(storage::FileSystem& files, const std::filesystem::path& taken) {
  for (int number = 1;; ++number) {
    auto candidate = taken;
    candidate += "." + std::to_string(number);
    if (!files.exists(candidate)) return candidate;
  }
}

}  // namespace

std::filesystem::path run_directory(const RunOptions& options) {
  return std::filesystem::path(options.runs_dir) / options.run_name;
}

std::filesystem::path save_directory(const RunOptions& options) {
  constexpr std::string_view placeholder = "{run}";
  std::string text = options.save_hf;
  const auto at = text.find(placeholder);
  if (at != std::string::npos) {
    text.replace(at, placeholder.size(), run_directory(options).string());
  }
  return text;
}

std::optional<std::filesystem::path> prepare_run_directory(const std::filesystem::path& directory) {
  auto& files = storage::real_file_system();
  try {
    std::optional<std::filesystem::path> kept;
    if (holds_a_run(files, directory)) {
      kept = free_name(files, directory);
      files.rename(directory, *kept);
    }
    files.make_directories(directory);
    const auto probe = directory / ".writable";
    files.write_file(probe, "");
    files.remove(probe);
    return kept;
  } catch (const base::WorldError& error) {
    throw base::UserError(std::string("the output directory cannot be written: ") + error.what(),
                          directory.string(), "choose another --runs-dir or mend its permissions");
  }
}

void write_configuration(const std::filesystem::path& directory, const std::string& toml) {
  storage::commit_text(storage::real_file_system(), directory / "config.toml", toml);
}

}  // namespace physarum::app
