#include "resume.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "physarum/base/error.hpp"
#include "physarum/base/logging.hpp"

#include "physarum/parallel/agree.hpp"

#include "physarum/storage/checkpoint.hpp"

#include "checkpoint_content.hpp"
#include "resume_check.hpp"

namespace physarum::app {

namespace {

using base::UserError;
using Path = std::filesystem::path;

std::vector<Path> checkpoints_in(const Path& directory) {
  std::vector<Path> paths;
  for (const auto step : storage::list_checkpoints(storage::real_file_system(), directory))
    paths.push_back(directory / storage::checkpoint_name(step));
  return paths;
}

std::vector<Path> checkpoints_to_load(const std::string& load) {
  if (!storage::real_file_system().exists(load)) {
    throw UserError("there is no such directory", "--load " + load,
                    "check the path; --resume begins anew if there is no checkpoint yet");
  }
  if (storage::is_checkpoint(storage::real_file_system(), load)) return {load};
  auto paths = checkpoints_in(load);
  if (!paths.empty()) return paths;
  throw UserError("the directory holds no checkpoint", "--load " + load,
                  "check the path; --resume begins anew if there is no checkpoint yet");
}

/// Newest first; none: a new run.
std::vector<Path> candidates(const Setup& setup) {
  const auto& options = setup.configuration.checkpoint;
  if (options.resume) {
    auto paths = checkpoints_in(setup.checkpoints());
    if (!paths.empty()) return paths;
  }
  return options.load.empty() ? std::vector<Path>{} : checkpoints_to_load(options.load);
}

/// One rank looks: on a network file system the others might see another state.
std::vector<Path> agreed_candidates(const Setup& setup, const parallel::Communicator& world) {
  std::string lines;
  parallel::together(world, [&] {
    if (world.rank() != 0) return;
    for (const auto& path : candidates(setup)) lines += path.string() + "\n";
  });
  world.broadcast_string(lines, 0);
  std::vector<Path> paths;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) paths.emplace_back(line);
  return paths;
}

void read_weights(Setup& setup, const storage::CheckpointReader& checkpoint, Resume& resume) {
  setup.initial = std::make_unique<model::ParameterStore>(setup.model, model::Gradients::none);
  training::read_weights(checkpoint, setup.model, setup.initial->values());
  if (!setup.configuration.checkpoint.load_optim) return;
  if (!holds_optimiser(checkpoint)) {
    throw UserError("the checkpoint holds no optimiser state", checkpoint.path().string(),
                    "--no-load-optim goes on with a new optimiser");
  }
  resume.optimiser = training::read_optimiser(checkpoint, setup.model);
}

/// This rank's part. Throws DamagedCheckpoint, UserError.
Resume read_checkpoint(Setup& setup, const Path& path, int rank) {
  const storage::CheckpointReader checkpoint(storage::real_file_system(), path);
  require_same_run(setup, checkpoint);
  Resume resume;
  resume.path = path;
  resume.step = checkpoint.manifest().step;
  resume.run_id = checkpoint.file().string_attribute("", "run_id");
  if (setup.plan.is_buffer(rank)) {
    auto state = buffer::BufferState::read(checkpoint.file());
    require_fitting_groups(setup, state, checkpoint.path());
    resume.buffer = std::make_shared<buffer::BufferState>(std::move(state));
  }
  if (setup.plan.is_trainer(rank)) read_weights(setup, checkpoint, resume);
  return resume;
}

/// Of a directory that list_checkpoints() or the user named.
std::int64_t step_of(const Path& path) {
  const auto name = path.filename().string();
  const auto digits = name.find_last_not_of("0123456789") + 1;
  return digits < name.size() ? std::stoll(name.substr(digits, 18)) : -1;
}

/// What the lowest rank that found damage says; empty if none did.
std::string any_damage(const std::string& mine, const parallel::Communicator& world) {
  for (const auto& bytes : world.all_gather_bytes(std::as_bytes(std::span(mine)))) {
    if (!bytes.empty()) return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  return {};
}

}  // namespace

void load_checkpoint(Setup& setup, const parallel::Communicator& world) {
  std::vector<std::int64_t> steps;
  std::vector<std::string> damage;
  const auto paths = agreed_candidates(setup, world);
  for (const auto& path : paths) {
    std::string mine;
    std::optional<Resume> resume;
    parallel::together(world, [&] {
      try {
        resume = read_checkpoint(setup, path, world.rank());
      } catch (const storage::DamagedCheckpoint& error) {
        mine = error.what();
      }
    });
    auto found = any_damage(mine, world);
    if (found.empty()) {
      resume->damaged = steps;
      setup.resume = std::move(resume);
      if (world.rank() != 0) return;
      for (const auto& text : damage)
        base::log_warning("a checkpoint is damaged and passed over: " + text);
      return;
    }
    damage.push_back(std::move(found));
    steps.push_back(step_of(path));
  }
  if (paths.empty()) return;
  throw UserError("none of " + std::to_string(paths.size()) +
                      " checkpoints is intact; the newest: " + damage.front(),
                  paths.front().parent_path().string(), "load another directory, or begin anew");
}

}  // namespace physarum::app
