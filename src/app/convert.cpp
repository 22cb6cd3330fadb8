#include <cstdio>
#include <filesystem>
#include <limits>
#include <span>

#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/parallel/agree.hpp"

#include "physarum/storage/checkpoint.hpp"
#include "physarum/storage/commit.hpp"

#include "physarum/sample/prompt_file.hpp"

#include "physarum/environment/registry.hpp"

#include "physarum/app/convert_options.hpp"

#include "command.hpp"
#include "convert_weights.hpp"

namespace physarum::app {

namespace {

using base::UserError;
namespace fs = std::filesystem;

/// prompts.jsonl → prompts.h5; every rank writes its own rows.
void convert_prompts(const fs::path& from, const fs::path& to, const ConvertOptions& options,
                     const parallel::Communicator& world) {
  std::vector<sample::Prompt> prompts;
  parallel::together(world, [&] {
    refuse_existing(to);
    prompts = environment::read_jsonl_prompts(from, options.keys, options.environment);
    const auto known = environment::make_environments({}, 0);
    for (const auto& prompt : prompts) (void)known.find(prompt.environment);
  });
  const auto count = prompts.size();
  const auto ranks = static_cast<std::size_t>(world.size());
  const auto rank = static_cast<std::size_t>(world.rank());
  const std::size_t first = count * rank / ranks;
  const std::size_t last = count * (rank + 1) / ranks;
  const std::span<const sample::Prompt> mine(prompts.data() + first, last - first);
  storage::commit_file(storage::real_file_system(), to, world, sample::prompt_format(),
                       [&](storage::File& file) { sample::write_prompts(file, mine); });
  if (world.rank() == 0) std::printf("%zu prompts in %s\n", count, to.c_str());
}

/// The newest intact one, if `from` is a directory of checkpoints; `from` itself if it is one.
fs::path find_checkpoint(const fs::path& from) {
  auto& files = storage::real_file_system();
  if (files.exists(from / storage::manifest_file_name)) return from;
  for (const auto step : storage::list_checkpoints(files, from)) {
    try {
      const storage::CheckpointReader reader(files, from / storage::checkpoint_name(step));
      reader.verify();
      return from / storage::checkpoint_name(step);
    } catch (const storage::DamagedCheckpoint& error) {
      base::log_warning(std::string("a checkpoint is damaged and passed over: ") + error.what());
    }
  }
  return {};
}

void convert_model(const fs::path& from, const fs::path& to, const ConvertOptions& options) {
  if (from.extension() == ".gguf") return convert_gguf(from, to, options);
  if (!fs::is_directory(from)) {
    throw UserError("cannot convert this to " + to.string(), from.string(),
                    "give a .jsonl and a .h5 file, or a .gguf file, a checkpoint or a Hugging Face "
                    "directory and a new directory");
  }
  const auto checkpoint = find_checkpoint(from);
  if (!checkpoint.empty()) return convert_checkpoint(checkpoint, to, options);
  convert_hf(from, to, options);
}

}  // namespace

void declare_options(base::OptionTable& table, ConvertOptions& options) {
  environment::declare_options(table, options.keys);
  declare_own_options(table, options);
}

void declare_own_options(base::OptionTable& table, ConvertOptions& options) {
  table.topic("convert");
  table.add("prompt-env", options.environment,
            "Environment that judges rows whose metadata names none as rm_type.");
  table.add("dtype", options.dtype, "Element type of written weights.", {"f32", "bf16", "f16"});
  table.add("max-shard-bytes", options.max_shard_bytes,
            "Most bytes of one file of written weights, unless one tensor is larger.",
            {1, std::numeric_limits<std::int64_t>::max()});
}

base::ExitCode run_convert(const std::vector<std::string>& arguments,
                           parallel::Communicator& world) {
  ConvertOptions options;
  std::vector<std::string> paths;
  parallel::together(world, [&] {
    base::OptionTable table;
    declare_options(table, options);
    paths = base::read_arguments(arguments, table);
    if (paths.size() != 2) {
      throw UserError("convert takes two paths, got " + std::to_string(paths.size()),
                      "command line", "physarum convert prompts.jsonl prompts.h5");
    }
    options.keys.validate();
  });
  const fs::path from = paths[0];
  const fs::path to = paths[1];
  if (from.extension() == ".jsonl" && to.extension() == ".h5") {
    convert_prompts(from, to, options, world);
    return base::ExitCode::done;
  }
  parallel::together(world, [&] {
    if (world.rank() == 0) convert_model(from, to, options);
  });
  return base::ExitCode::done;
}

}  // namespace physarum::app
