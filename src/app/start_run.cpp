#include "start_run.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include <nlohmann/json.hpp>

#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/parallel/agree.hpp"

#include "physarum/storage/checkpoint.hpp"
#include "physarum/storage/checkpoint_writer.hpp"

#include "physarum/weights/weight_directory.hpp"

#include "physarum/model/hf_directory.hpp"

#include "resume.hpp"
#include "run_directory.hpp"

namespace physarum::app {

namespace {

using base::UserError;
using Path = std::filesystem::path;

base::Severity severity_of(const std::string& name) {
  if (name == "debug") return base::Severity::debug;
  if (name == "warning") return base::Severity::warning;
  return name == "error" ? base::Severity::error : base::Severity::info;
}

bool uses_weight_files(const Setup& setup) {
  return setup.configuration.weights.carrier == weights::WeightCarrier::file;
}

bool saves(const Setup& setup) { return setup.command == "train" && !setup.checkpoints().empty(); }

/// Rank 0. Before anything is read or moved: another job may be at work there.
void lock_what_is_there(Setup& setup) {
  auto& files = storage::real_file_system();
  if (files.exists(setup.directory)) setup.locks.emplace_back(setup.directory);
  const bool outside = saves(setup) && setup.checkpoints() != setup.directory;
  if (outside && files.exists(setup.checkpoints())) setup.locks.emplace_back(setup.checkpoints());
}

void lock_what_is_new(Setup& setup, bool run_is_locked, bool save_is_locked) {
  if (!run_is_locked) setup.locks.emplace_back(setup.directory);
  if (saves(setup) && !save_is_locked && setup.checkpoints() != setup.directory)
    setup.locks.emplace_back(setup.checkpoints());
}

/// Did the run of this directory come to its end?
bool is_finished(const Path& directory) {
  auto& files = storage::real_file_system();
  const auto summary = directory / "summary.json";
  if (!files.exists(summary)) return false;
  const auto json = nlohmann::json::parse(files.read_file(summary), nullptr, false);
  return json.is_object() && json.value("exit", -1) == 0;
}

void require_something_to_do(const Setup& setup, bool continues) {
  const auto& resume = *setup.resume;
  const bool only_end_is_missing =
      resume.step == setup.steps && continues && !is_finished(setup.directory);
  if (resume.step < setup.steps || only_end_is_missing) return;
  throw UserError("nothing is left to do: the checkpoint has finished " +
                      std::to_string(resume.step) + " of " + std::to_string(setup.steps) + " steps",
                  resume.path.string(), "raise --num-rollout, or load an earlier checkpoint");
}

/// Checkpoints that are later than where the run begins would be taken for its own.
void clear_the_way(const Setup& setup) {
  auto& files = storage::real_file_system();
  const auto directory = setup.checkpoints();
  storage::clean_checkpoints(files, directory);
  for (const auto step : storage::list_checkpoints(files, directory)) {
    if (setup.resume && step <= setup.resume->step) continue;
    const auto name = storage::checkpoint_name(step);
    const bool damaged = setup.resume && std::ranges::find(setup.resume->damaged, step) !=
                                             setup.resume->damaged.end();
    if (!damaged) {
      throw UserError("the directory holds " + name + " already", directory.string(),
                      setup.resume ? "choose another --save, or remove what is later than " +
                                         setup.resume->path.string()
                                   : "--resume goes on from it; or choose another --save");
    }
    const auto aside = directory / ("damaged-" + name);
    files.rename(directory / name, files.exists(aside) ? free_name(aside) : aside);
  }
}

/// The directory holds the earlier part of this run.
void continue_directory(const Setup& setup) {
  std::vector<std::int64_t> open;
  if (setup.resume->buffer) {
    for (const auto version : setup.resume->buffer->evaluations) open.push_back(version.value());
  }
  set_aside_later_outputs(setup.directory, setup.resume->step, open);
  storage::real_file_system().remove(setup.directory / "summary.json");
}

/// Rank 0. Returns what is to be told the user.
std::string make_directory(Setup& setup) {
  auto& files = storage::real_file_system();
  const bool run_is_locked = files.exists(setup.directory);
  const bool save_is_locked = saves(setup) && files.exists(setup.checkpoints());
  const bool continues =
      setup.resume && run_is_locked && read_run_id(setup.directory) == setup.resume->run_id;
  if (setup.resume) require_something_to_do(setup, continues);
  setup.run_id = continues ? setup.resume->run_id : new_run_id();
  std::string told;
  if (continues) {
    lock_what_is_new(setup, true, save_is_locked);
    clear_the_way(setup);
    continue_directory(setup);
  } else {
    const auto kept = prepare_run_directory(setup.directory);
    if (kept) told = "an earlier run of this name is kept as " + kept->string();
    const bool save_stays = save_is_locked && files.exists(setup.checkpoints());
    if (kept) setup.locks.erase(setup.locks.begin());
    if (kept && save_is_locked && !save_stays) setup.locks.clear();
    lock_what_is_new(setup, run_is_locked && !kept, save_stays);
    if (saves(setup)) clear_the_way(setup);
    write_run_id(setup.directory, setup.run_id);
  }
  write_configuration(setup.directory, setup.toml);
  return told;
}

/// A training run beside this one left them, or is writing them.
void read_weight_directory(Setup& setup, std::span<float> values) {
  const Path directory = setup.configuration.weights.directory;
  const auto loaded =
      weights::load_newest_weights(storage::real_file_system(), directory, setup.catalogue);
  loaded.image.copy_to(values);
  setup.weight_version = loaded.image.version().value();
  for (const auto& reason : loaded.unusable)
    base::log_warning("a weight version is left out: " + reason);
}

/// Rank 0. The directory is this run's from now on.
void open_weight_directory(Setup& setup) {
  auto& files = storage::real_file_system();
  const Path directory = setup.configuration.weights.directory;
  setup.locks.emplace_back(directory);
  const Path owner_file = directory / "run";
  const std::string owner = std::filesystem::absolute(setup.directory).string();
  // Version numbers begin anew, or are taken again after the checkpoint. --resume may begin anew,
  // too, after a run that was killed before its first one.
  const bool ours = setup.configuration.checkpoint.resume && files.exists(owner_file) &&
                    files.read_file(owner_file) == owner;
  if (!setup.resume && !ours && weights::holds_weights(files, directory)) {
    throw UserError("the directory holds weight versions already", directory.string(),
                    "choose another --weight-directory, or remove them");
  }
  weights::remove_weights(files, directory);
  files.write_file(owner_file, owner);
}

/// Collective over `holders`; they throw together.
std::unique_ptr<model::ParameterStore> load_initial_weights(Setup& setup,
                                                            const parallel::Communicator& holders) {
  auto store = std::make_unique<model::ParameterStore>(setup.model, model::Gradients::none);
  const auto& run = setup.configuration.run;
  if (setup.command != "train" && uses_weight_files(setup)) {
    read_weight_directory(setup, store->values());
  } else if (run.initialise == Initialise::random) {
    model::initialise(setup.model, static_cast<std::uint64_t>(run.seed), store->values());
  } else {
    model::load_weights(run.hf_checkpoint, setup.model, holders, store->values());
  }
  return store;
}

/// A new run's, on the ranks that hold them; a checkpoint has brought its own.
void load_first_weights(Setup& setup, const parallel::Communicator& world) {
  if (setup.resume) return;
  const bool trains = setup.command == "train";
  const bool holds = trains ? setup.plan.is_trainer(world.rank()) : world.rank() == 0;
  auto holders = world.split(holds ? 0 : -1, world.rank(), "loading");
  std::optional<parallel::LocalFailure> failure;
  try {
    if (holds) setup.initial = load_initial_weights(setup, holders);
  } catch (const std::exception& error) {
    if (!holders.intact()) throw;
    failure = parallel::describe_failure(error);
  }
  holders.close();
  parallel::agree_or_throw(world, failure);
  if (!trains) world.broadcast(std::span(&setup.weight_version, 1), 0);
}

}  // namespace

void start_run(Setup& setup, const parallel::Communicator& world) {
  parallel::together(world, [&] {
    if (world.rank() == 0) lock_what_is_there(setup);
  });
  if (setup.command == "train") load_checkpoint(setup, world);
  load_first_weights(setup, world);
  std::string told;
  parallel::together(world, [&] {
    if (world.rank() != 0) return;
    told = make_directory(setup);
    if (setup.command == "train" && uses_weight_files(setup)) open_weight_directory(setup);
  });
  world.broadcast_string(setup.run_id, 0);
  parallel::together(world, [&] {
    base::start_logging({.rank = world.rank(),
                         .role = setup.plan.role_name(world.rank()),
                         .directory = setup.directory / "logs",
                         .console_level = severity_of(setup.configuration.run.log_level)});
  });
  if (!told.empty()) base::log_info(told);
  base::log_info(setup.command + ": " + setup.plan.describe() + "; files in " +
                 setup.directory.string());
  if (uses_weight_files(setup)) {
    const auto& directory = setup.configuration.weights.directory;
    base::log_info(setup.command == "train"
                       ? "weight versions are written to " + directory + ", and read there"
                       : "weights of version " + std::to_string(setup.weight_version) + " from " +
                             directory);
  }
  if (setup.resume) {
    base::log_info("going on from " + setup.resume->path.string() + ": " +
                   std::to_string(setup.resume->step) + " of " + std::to_string(setup.steps) +
                   " steps are done");
  }
}

}  // namespace physarum::app
