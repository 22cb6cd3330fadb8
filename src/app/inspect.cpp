#include "inspect.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "physarum/base/error.hpp"

#include "physarum/storage/checkpoint.hpp"

#include "physarum/sample/prompt_file.hpp"
#include "physarum/sample/sample_file.hpp"

#include "physarum/weights/weight_directory.hpp"

#include "inspect_checkpoint.hpp"
#include "inspect_weights.hpp"

namespace physarum::app {

namespace {

using Path = std::filesystem::path;
using Lines = std::vector<std::string>;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// "17 datasets, 17 with the digest that they had when they were written".
void verify_file(const storage::File& file, Verify verify, Inspection& found) {
  static const parallel::Communicator alone;
  const auto names = file.datasets();
  std::size_t guarded = 0;
  for (const auto& name : names) {
    if (!file.info(name).has_digest) continue;
    ++guarded;
    if (verify == Verify::nothing) continue;
    try {
      file.verify(name, alone);
    } catch (const base::UserError& error) {
      found.good = false;
      found.lines.push_back(std::string("damaged: ") + error.what());
    }
  }
  const std::string count =
      std::to_string(names.size()) + " datasets, " + std::to_string(guarded) + " with digests";
  found.lines.push_back(verify == Verify::nothing ? "not verified: " + count
                        : !found.good             ? "not intact: " + count
                        : guarded == names.size() ? "verified: " + count
                                                  : "partly verified: " + count);
}

/// Only if there are any.
void add_nuclei(const std::vector<sample::Sample>& samples, Lines& lines) {
  std::int64_t tokens = 0, ids = 0, largest = 0;
  for (const auto& one : samples) {
    for (std::int64_t i = 0; i < one.nuclei.size(); ++i) {
      const std::int64_t size = std::ssize(one.nuclei.at(i));
      tokens += size > 0 ? 1 : 0;
      ids += size;
      largest = std::max(largest, size);
    }
  }
  if (tokens == 0) return;
  lines.push_back("nuclei: " + std::to_string(tokens) + " tokens were drawn from recorded ids, " +
                  number(static_cast<double>(ids) / static_cast<double>(tokens)) +
                  " on average, at most " + std::to_string(largest));
}

/// Only if there are any.
void add_top_log_probs(const std::vector<sample::Sample>& samples, Lines& lines) {
  std::int64_t tokens = 0, most = 0, likeliest = 0;
  for (const auto& one : samples) {
    const auto per_token = one.top_log_probs.per_token(one.response_tokens());
    if (per_token == 0) continue;
    most = std::max(most, per_token);
    tokens += one.response_tokens();
    for (std::int64_t i = 0; i < one.response_tokens(); ++i) {
      const auto drawn = one.tokens[static_cast<std::size_t>(one.prompt_tokens + i)];
      const auto first = one.top_log_probs.ids[static_cast<std::size_t>(i * per_token)];
      likeliest += drawn == first ? 1 : 0;
    }
  }
  if (tokens == 0) return;
  lines.push_back("top log-probs: of " + std::to_string(tokens) + " tokens the " +
                  std::to_string(most) + " likeliest; " + std::to_string(likeliest) +
                  " tokens were the likeliest themselves");
}

void add_samples(const Path& path, Lines& lines) {
  const auto content = sample::read_samples(path);
  const auto& header = content.header;
  constexpr const char* purposes[] = {"train", "evaluate", "supervised"};
  lines.push_back((header.purpose == sample::Purpose::evaluate ? "weight version: " : "step: ") +
                  std::to_string(header.step));
  lines.push_back(std::string("purpose: ") + purposes[static_cast<std::size_t>(header.purpose)]);
  lines.push_back("seed: " + std::to_string(header.seed));
  lines.push_back("program version: " + header.program_version);
  std::set<std::int64_t> groups, prompts;
  std::map<std::int64_t, std::int64_t> versions;
  std::int64_t prompt_tokens = 0, response_tokens = 0, trained = 0, truncated = 0, failed = 0;
  double reward = 0;
  for (const auto& one : content.samples) {
    groups.insert(one.group.value());
    prompts.insert(one.prompt.value());
    for (const auto& run : one.versions) versions[run.version.value()] += run.tokens;
    prompt_tokens += one.prompt_tokens;
    response_tokens += one.response_tokens();
    trained += one.trained_tokens();
    truncated += one.status == sample::SampleStatus::truncated ? 1 : 0;
    failed += one.status == sample::SampleStatus::failed ? 1 : 0;
    reward += one.reward;
  }
  const auto count = content.samples.size();
  lines.push_back("samples: " + std::to_string(count) + " in " + std::to_string(groups.size()) +
                  " groups, of " + std::to_string(prompts.size()) + " prompts; " +
                  std::to_string(truncated) + " truncated, " + std::to_string(failed) + " failed");
  lines.push_back("tokens: " + std::to_string(prompt_tokens) + " in prompts, " +
                  std::to_string(response_tokens) + " in responses, " + std::to_string(trained) +
                  " trained");
  std::string by_version;
  for (const auto& [version, tokens] : versions) {
    by_version += (by_version.empty() ? "" : ", ") + std::to_string(version) + " (" +
                  std::to_string(tokens) + " tokens)";
  }
  add_nuclei(content.samples, lines);
  add_top_log_probs(content.samples, lines);
  lines.push_back("weight versions: " + (by_version.empty() ? "none" : by_version));
  if (count > 0) lines.push_back("mean reward: " + number(reward / static_cast<double>(count)));
}

void add_prompts(const Path& path, Lines& lines) {
  const sample::FilePromptSource prompts(path);
  std::map<std::string, std::int64_t> environments;
  std::size_t longest = 0;
  std::int64_t conversations = 0;
  for (std::int64_t row = 0; row < prompts.size(); ++row) {
    const auto prompt = prompts.at(row);
    ++environments[prompt.environment.empty() ? "the run's" : prompt.environment];
    longest = std::max(longest, prompt.text.size() + prompt.messages.size());
    if (!prompt.messages.empty()) ++conversations;
  }
  lines.push_back("prompts: " + std::to_string(prompts.size()) + ", the longest has " +
                  std::to_string(longest) + " bytes");
  if (conversations > 0) lines.push_back("of them conversations: " + std::to_string(conversations));
  for (const auto& [name, count] : environments)
    lines.push_back("environment " + name + ": " + std::to_string(count) + " prompts");
}

void add_datasets(const storage::File& file, Lines& lines) {
  for (const auto& name : file.attributes(""))
    lines.push_back(name + ": " + file.attribute_text("", name));
  for (const auto& name : file.datasets()) {
    const auto info = file.info(name);
    std::string shape;
    for (const auto size : info.extent)
      shape += (shape.empty() ? "" : " x ") + std::to_string(size);
    lines.push_back("dataset " + name + ": " + std::string(element_name(info.element)) +
                    (shape.empty() ? "" : " [" + shape + "]") + ", " + std::to_string(info.bytes) +
                    " bytes");
  }
}

void add_weight_version(const storage::File& file, Verify verify, Inspection& found) {
  using weights::PayloadCheck;
  try {
    const auto check = verify == Verify::nothing ? PayloadCheck::skip : PayloadCheck::verify;
    for (auto& line : weights::describe_weight_file(file, check)) found.lines.push_back(line);
  } catch (const base::UserError& error) {
    found.good = false;
    found.lines.push_back(std::string("damaged: ") + error.what());
  }
}

Inspection inspect_file(const Path& path, Verify verify) {
  // A checkpoint's file is guarded by the manifest beside it.
  const bool has_manifest =
      storage::real_file_system().exists(path.parent_path() / storage::manifest_file_name);
  if (path.filename() == storage::checkpoint_file_name && has_manifest)
    return inspect_checkpoint(path.parent_path(), verify);
  const auto file = storage::File::open_any(path);
  const auto format = file.format();
  Inspection found;
  found.lines.push_back("file: " + path.string());
  found.lines.push_back("format: " + (format.name.empty() ? "not Physarum's" : format.name) +
                        (format.name.empty() ? "" : ", version " + std::to_string(format.version)));
  verify_file(file, verify, found);
  if (!found.good) return found;
  if (format.name == sample::sample_format().name) {
    add_samples(path, found.lines);
  } else if (format.name == sample::prompt_format().name) {
    add_prompts(path, found.lines);
  } else if (format.name == weights::weight_format().name) {
    add_weight_version(file, verify, found);
  } else {
    add_datasets(file, found.lines);
  }
  return found;
}

void append(Inspection& all, const Inspection& more) {
  if (!all.lines.empty()) all.lines.emplace_back();
  all.lines.insert(all.lines.end(), more.lines.begin(), more.lines.end());
  all.good = all.good && more.good;
}

Inspection inspect_samples(const Path& directory, Verify verify) {
  Inspection all;
  for (const auto& name : storage::real_file_system().list(directory))
    if (name.ends_with(".h5")) append(all, inspect_file(directory / name, verify));
  return all;
}

}  // namespace

Inspection inspect(const Path& path, Verify verify) {
  auto& files = storage::real_file_system();
  if (!std::filesystem::is_directory(path)) {
    return is_weight_file(path) ? inspect_weights(path, verify) : inspect_file(path, verify);
  }
  if (storage::is_checkpoint(files, path)) return inspect_checkpoint(path, verify);
  if (!storage::list_checkpoints(files, path).empty()) return inspect_checkpoints(path, verify);
  Inspection all;
  if (!storage::list_checkpoints(files, path / "checkpoints").empty())
    append(all, inspect_checkpoints(path / "checkpoints", verify));
  append(all, inspect_samples(files.exists(path / "samples") ? path / "samples" : path, verify));
  if (!all.lines.empty()) return all;
  throw base::UserError("there is nothing here that Physarum writes", path.string(),
                        "give a file, a checkpoint or a run's directory");
}

}  // namespace physarum::app
