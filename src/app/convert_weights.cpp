#include "convert_weights.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/text/tokenizer.hpp"

#include "physarum/storage/checkpoint.hpp"
#include "physarum/storage/commit.hpp"
#include "physarum/storage/file_system.hpp"

#include "physarum/model/gguf_model.hpp"
#include "physarum/model/hf_directory.hpp"
#include "physarum/model/parameter_layout.hpp"

#include "physarum/training/trainer.hpp"

#include "physarum/app/configuration.hpp"

namespace physarum::app {

namespace {

namespace fs = std::filesystem;

model::ExportOptions export_options(const ConvertOptions& options) {
  const auto type = options.dtype == "bf16"  ? model::ElementType::bf16
                    : options.dtype == "f16" ? model::ElementType::f16
                                             : model::ElementType::f32;
  return {.type = type, .max_shard_bytes = options.max_shard_bytes};
}

void say(const model::ModelConfig& config, const std::string& of, const fs::path& to) {
  std::printf("%lld parameters%s in %s\n", static_cast<long long>(config.parameter_count()),
              of.c_str(), to.c_str());
}

/// The new directory appears whole or not at all. `write` gets the name to write to, in the same
/// parent directory.
template <class Write>
void write_directory(fs::path to, Write write) {
  if (!to.has_filename()) to = to.parent_path();  // "DIR/" is DIR
  refuse_existing(to);
  auto& files = storage::real_file_system();
  const auto temporary = storage::temporary_path(to);
  files.remove_tree(temporary);
  try {
    write(temporary);
    storage::commit_directory(files, temporary, to);
  } catch (...) {
    std::error_code ignored;  // what went wrong before counts
    fs::remove_all(temporary, ignored);
    throw;
  }
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

}  // namespace

void refuse_existing(const fs::path& target) {
  if (fs::exists(target)) {
    throw base::UserError("the target exists", target.string(), "choose another name or remove it");
  }
}

void convert_hf(const fs::path& from, const fs::path& to, const ConvertOptions& options) {
  refuse_existing(to);
  auto& files = storage::real_file_system();
  const auto config = model::ModelConfig::from_file(from / "config.json");
  const auto weights = model::open_weights(from);
  const auto small = model::read_tokenizer_files(files, from);
  write_directory(to, [&](const fs::path& directory) {
    model::save_hf(files, directory, config, *weights, small, export_options(options));
  });
  say(config, "", to);
}

void convert_gguf(const fs::path& from, const fs::path& to, const ConvertOptions& options) {
  refuse_existing(to);
  const model::GgufFile file(from);
  const auto where = from.string();
  const model::GgufView view{file.header(), file.file().bytes(), where};
  const auto config = model::ModelConfig::from_json(model::gguf_config_json(view), where);
  const auto small = model::gguf_tokenizer_files(view);
  // What is written here shall be readable here.
  (void)text::Tokenizer::from_json(small.at("tokenizer.json"), small.at("tokenizer_config.json"),
                                   where);
  const auto weights = model::open_weights(from);
  write_directory(to, [&](const fs::path& directory) {
    model::save_hf(storage::real_file_system(), directory, config, *weights, small,
                   export_options(options));
  });
  say(config, "", to);
}

void convert_checkpoint(const fs::path& from, const fs::path& to, const ConvertOptions& options) {
  refuse_existing(to);
  const storage::CheckpointReader checkpoint(storage::real_file_system(), from);
  const auto config = model::ModelConfig::from_json(checkpoint.file().read_text("model"),
                                                    checkpoint.path().string() + ":model");
  std::vector<float> flat(static_cast<std::size_t>(model::ParameterLayout(config).total()));
  training::read_weights(checkpoint, config, flat);
  write_directory(to, [&](const fs::path& directory) {
    model::save_hf(storage::real_file_system(), directory, config, flat, tokenizer_of(checkpoint),
                   export_options(options));
  });
  say(config, " of step " + std::to_string(checkpoint.manifest().step), to);
}

}  // namespace physarum::app
