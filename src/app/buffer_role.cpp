#include "buffer_role.hpp"

#include <algorithm>

#include "physarum/app/version.hpp"

#include "run_directory.hpp"
#include "samples_jsonl.hpp"
#include "world_ranks.hpp"

namespace physarum::app {

namespace {

buffer::ServerSettings server_settings(const Setup& setup, const BufferTask& task) {
  const auto& all = setup.configuration;
  buffer::ServerSettings settings;
  settings.options = all.buffer;
  settings.peers = {.buffers = world_ranks(setup.plan.buffer_ranks()),
                    .trainers = task.trains ? world_ranks(setup.plan.trainer_ranks())
                                            : std::vector<base::WorldRank>{},
                    .engines = world_ranks(setup.plan.rollout_ranks()),
                    .dp_size = std::max(1, static_cast<int>(setup.plan.trainer_ranks().size()))};
  settings.seed = all.run.seed;
  settings.first_step = setup.first_step();
  if (setup.resume) settings.resumed = setup.resume->buffer;
  settings.save_trigger = in_run(all.checkpoint.save_trigger_sentinel, all.run);
  settings.num_rollout = task.steps;
  const bool supervised = all.training.loss.type == training::LossType::sft_loss;
  settings.purpose =
      supervised && task.trains ? sample::Purpose::supervised : sample::Purpose::train;
  settings.sampling = all.rollout.training_sampling(setup.model);
  settings.prompts = setup.prompts.get();
  for (const auto& set : setup.held_out) {
    if (!task.evaluates) break;
    settings.evaluations.push_back({.name = set.name,
                                    .prompts = set.prompts.get(),
                                    .n_prompts = 0,
                                    .n_samples = all.buffer.n_samples_per_eval_prompt,
                                    .sampling = all.rollout.evaluation_sampling(setup.model)});
  }
  settings.initial_version = task.version;
  settings.archive.directory =
      all.buffer.save_samples ? setup.directory / "samples" : std::filesystem::path();
  settings.archive.program_version = std::string(version);
  settings.archive.configuration = setup.toml;
  return settings;
}

Course course_of(const Setup& setup, const BufferTask& task) {
  if (task.trains) return {.steps = task.steps};
  std::int64_t prompts = task.steps * setup.configuration.buffer.rollout_batch_size;
  for (const auto& set : setup.held_out) prompts += task.evaluates ? set.prompts->size() : 0;
  return {.steps = task.steps, .prompts = prompts};
}

std::unique_ptr<RunReporter> make_reporter(const Setup& setup, const BufferTask& task) {
  auto reporter =
      setup.resume
          ? std::make_unique<RunReporter>(setup.directory, setup.command, task.steps,
                                          setup.resume->step, setup.resume->buffer->report)
          : std::make_unique<RunReporter>(setup.directory, setup.command, course_of(setup, task));
  if (setup.configuration.data.samples_jsonl) {
    reporter->on_file(
        [&setup](const std::filesystem::path& file) { write_samples_jsonl(file, setup); });
  }
  return reporter;
}

}  // namespace

BufferRole::BufferRole(const Setup& setup, parallel::Layout& layout, exchange::Transport& transport,
                       weights::WeightStore* store, const BufferTask& task)
    : store_(store),
      reporter_(layout.buffer().rank() == 0 ? make_reporter(setup, task) : nullptr),
      server_(transport, layout.buffer(), server_settings(setup, task),
              reporter_ ? reporter_->reports() : buffer::ServerReports{}) {}

bool BufferRole::advance() {
  const bool folded = store_ != nullptr && store_->advance();
  return server_.advance() || folded;
}

}  // namespace physarum::app
