#include "run_directory.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <unistd.h>

#include "physarum/base/error.hpp"
#include "physarum/base/host.hpp"

#include "physarum/storage/commit.hpp"
#include "physarum/storage/file_system.hpp"

namespace physarum::app {

namespace {

constexpr const char* run_id_name = ".run_id";
constexpr std::string_view samples_prefix = "samples_";
constexpr std::string_view evaluation_prefix = "eval_";

bool holds(const std::vector<std::int64_t>& numbers, std::int64_t number) {
  return std::ranges::find(numbers, number) != numbers.end();
}

/// N of samples_<N>.h5 and eval_<N>.h5, and of the same with .jsonl; none for other names.
std::optional<std::int64_t> number_in(std::string_view name) {
  const std::string_view suffix = name.ends_with(".jsonl") ? ".jsonl" : ".h5";
  const auto prefix = name.starts_with(samples_prefix) ? samples_prefix : evaluation_prefix;
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return {};
  name = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::int64_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size()) return {};
  return number;
}

/// Names that only a run writes: their presence makes a directory an earlier run.
bool holds_a_run(storage::FileSystem& files, const std::filesystem::path& directory) {
  return files.exists(directory / "summary.json") || files.exists(directory / "metrics.jsonl") ||
         files.exists(directory / "config.toml");
}

}  // namespace

std::filesystem::path run_directory(const RunOptions& options) {
  return std::filesystem::path(options.runs_dir) / options.run_name;
}

std::filesystem::path free_name(const std::filesystem::path& taken) {
  auto& files = storage::real_file_system();
  for (int number = 1;; ++number) {
    auto candidate = taken;
    candidate += "." + std::to_string(number);
    if (!files.exists(candidate)) return candidate;
  }
}

std::filesystem::path save_directory(const RunOptions& options) {
  return in_run(options.save_hf, options);
}

std::filesystem::path in_run(const std::string& path, const RunOptions& options) {
  constexpr std::string_view placeholder = "{run}";
  std::string text = path;
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
      kept = free_name(directory);
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

std::string new_run_id() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return base::host_name() + "-" + std::to_string(::getpid()) + "-" +
         std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::string read_run_id(const std::filesystem::path& directory) {
  auto& files = storage::real_file_system();
  const auto path = directory / run_id_name;
  return files.exists(path) ? files.read_file(path) : "";
}

void write_run_id(const std::filesystem::path& directory, const std::string& id) {
  storage::commit_text(storage::real_file_system(), directory / run_id_name, id);
}

void set_aside_later_outputs(const std::filesystem::path& directory, std::int64_t step,
                             const std::vector<std::int64_t>& open_evaluations) {
  auto& files = storage::real_file_system();
  const auto samples = directory / "samples";
  std::filesystem::path aside;
  for (const auto& name : files.list(samples)) {
    const auto number = number_in(name);
    if (!number) continue;
    const bool evaluation = name.starts_with(evaluation_prefix);
    const bool later =
        evaluation ? *number > step || holds(open_evaluations, *number) : *number >= step;
    if (!later) continue;
    if (aside.empty()) {
      aside = free_name(directory / "superseded" / "run");
      files.make_directories(aside);
    }
    files.rename(samples / name, aside / name);
  }
}

void write_configuration(const std::filesystem::path& directory, const std::string& toml) {
  storage::commit_text(storage::real_file_system(), directory / "config.toml", toml);
}

}  // namespace physarum::app
