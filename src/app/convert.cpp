#include <algorithm>
#include <filesystem>
#include <span>

#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/parallel/agree.hpp"

#include "physarum/storage/checkpoint.hpp"
#include "physarum/storage/commit.hpp"

#include "physarum/sample/prompt_file.hpp"

#include "physarum/model/hf_directory.hpp"
#include "physarum/model/parameter_layout.hpp"

#include "physarum/environment/registry.hpp"

#include "physarum/training/trainer.hpp"

#include "physarum/app/configuration.hpp"
#include "physarum/app/convert_options.hpp"

#include "command.hpp"

namespace physarum::app {

namespace {

using base::UserError;
namespace fs = std::filesystem;

void refuse_existing(const fs::path& target) {
  if (fs::exists(target)) {
    throw UserError("the target exists", target.string(), "choose another name or remove it");
  }
}

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

/// A Hugging Face directory in another element type, its tokenizer files with it.
void convert_weights(const fs::path& from, const fs::path& to, const ConvertOptions& options,
                     const parallel::Communicator& world) {
  parallel::together(world, [&] {
    if (world.rank() != 0) return;
    refuse_existing(to);
    const auto config = model::ModelConfig::from_file(from / "config.json");
    std::vector<float> flat(static_cast<std::size_t>(model::ParameterLayout(config).total()));
    model::load_weights(from, config, flat);
    const auto type = options.dtype == "bf16" ? model::ElementType::bf16 : model::ElementType::f32;
    model::save_hf(storage::real_file_system(), to, config, flat, from, type);
    std::printf("%lld parameters in %s\n", static_cast<long long>(config.parameter_count()),
                to.c_str());
  });
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

/// Where the run's tokenizer was when the checkpoint was written; empty if it is there no more.
fs::path tokenizer_of(const storage::CheckpointReader& checkpoint) {
  Configuration configuration;
  base::OptionTable table;
  declare_options(table, configuration);
  base::read_toml_text(checkpoint.file().read_text("configuration"), checkpoint.path().string(),
                       table);
  const fs::path directory = configuration.run.hf_checkpoint;
  if (storage::real_file_system().exists(directory / "tokenizer.json")) return directory;
  base::log_warning("the tokenizer of the run is no longer in " + directory.string() +
                    ": copy it into the new directory by hand");
  return {};
}

/// A checkpoint's weights as a Hugging Face directory.
void convert_checkpoint(const fs::path& from, const fs::path& to, const ConvertOptions& options) {
  refuse_existing(to);
  const storage::CheckpointReader checkpoint(storage::real_file_system(), from);
  const auto config = model::ModelConfig::from_json(checkpoint.file().read_text("model"),
                                                    checkpoint.path().string() + ":model");
  std::vector<float> flat(static_cast<std::size_t>(model::ParameterLayout(config).total()));
  training::read_weights(checkpoint, config, flat);
  const auto type = options.dtype == "bf16" ? model::ElementType::bf16 : model::ElementType::f32;
  model::save_hf(storage::real_file_system(), to, config, flat, tokenizer_of(checkpoint), type);
  std::printf("%lld parameters of step %lld in %s\n",
              static_cast<long long>(config.parameter_count()),
              static_cast<long long>(checkpoint.manifest().step), to.c_str());
}

}  // namespace

void declare_options(base::OptionTable& table, ConvertOptions& options) {
  table.topic("convert");
  environment::declare_options(table, options.keys);
  table.add("prompt-env", options.environment,
            "Environment that judges rows whose metadata names none as rm_type.");
  table.add("dtype", options.dtype, "Element type of written weights.", {"f32", "bf16"});
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
    if (!fs::is_directory(from)) {
      throw UserError("cannot convert this to " + to.string(), from.string(),
                      "give a .jsonl and a .h5 file, or a checkpoint or Hugging Face directory and "
                      "a new directory");
    }
  });
  bool is_checkpoint = false;
  parallel::together(world, [&] {
    const auto checkpoint = find_checkpoint(from);
    is_checkpoint = !checkpoint.empty();
    if (is_checkpoint && world.rank() == 0) convert_checkpoint(checkpoint, to, options);
  });
  if (is_checkpoint) return base::ExitCode::done;
  convert_weights(from, to, options, world);
  return base::ExitCode::done;
}

}  // namespace physarum::app
