#include "trainer_role.hpp"

#include "physarum/base/logging.hpp"

#include "physarum/parallel/wait.hpp"

#include "physarum/storage/file_system.hpp"

#include "run_directory.hpp"
#include "world_ranks.hpp"

namespace physarum::app {

namespace {

training::TrainerSetup trainer_setup(const Setup& setup) {
  const auto& all = setup.configuration;
  return {.options = all.training,
          .model = setup.model,
          .transfer_type = all.weights.transfer_type,
          .temperature = all.rollout.temperature,
          .total_steps = setup.steps * all.buffer.steps_per_rollout()};
}

}  // namespace

TrainerRole::TrainerRole(const Setup& setup, parallel::Layout& layout,
                         exchange::Transport& transport, weights::Publisher& publisher,
                         std::span<const float> initial)
    : setup_(setup),
      first_(layout.trainer().rank() == 0),
      publisher_(publisher),
      client_(transport, world_ranks(setup.plan.buffer_ranks()),
              {.trainer_rank = layout.trainer().rank(), .dp_rank = layout.trainer().rank()}),
      trainer_(trainer_setup(setup), initial, layout.trainer()) {}

base::Deadline TrainerRole::patience() const {
  return base::Deadline::in(setup_.configuration.buffer.distributed_timeout_minutes * 60);
}

void TrainerRole::open() { publish(base::WeightVersion(0)); }

void TrainerRole::run(const std::function<bool()>& while_waiting) {
  const std::int64_t steps = setup_.steps;
  const bool ahead = setup_.configuration.buffer.takes_before_publishing();
  if (steps == 0) return client_.finish();
  base::Stopwatch whole;
  sample::Batch batch = take(0, while_waiting);
  for (std::int64_t step = 0; step < steps; ++step) {
    learn(batch);
    const bool more = step + 1 < steps;
    // With weights that stay constant within a batch, the next batch must be complete before the
    // version that it was generated with is replaced.
    if (more && ahead) batch = take(step + 1, while_waiting);
    publish(base::WeightVersion(step + 1));
    metrics_["perf/step_time"] = whole.restart();
    client_.report_step(step, metrics_);
    metrics_.clear();
    if (more && !ahead) batch = take(step + 1, while_waiting);
  }
  client_.finish();
}

sample::Batch TrainerRole::take(std::int64_t step, const std::function<bool()>& while_waiting) {
  const parallel::Phase phase("take");
  base::Stopwatch watch;
  const auto deadline = patience();
  client_.request(step);
  parallel::Backoff backoff;
  while (true) {
    if (auto batch = client_.try_take()) {
      metrics_["perf/train_wait_time"] += watch.seconds();
      return std::move(*batch);
    }
    const bool busy = while_waiting();
    if (parallel::serve_hooks() || busy) {
      backoff.reset();
    } else {
      backoff.pause();
    }
    if (deadline.expired()) {
      parallel::throw_deadline("trainer", "the batch of step " + std::to_string(step), deadline);
    }
  }
}

void TrainerRole::learn(const sample::Batch& batch) {
  const parallel::Phase phase("step");
  base::Stopwatch watch;
  auto step = trainer_.step(batch);
  metrics_.merge(step.scalars);
  metrics_["perf/train_time"] = watch.seconds();
}

void TrainerRole::publish(base::WeightVersion version) {
  const parallel::Phase phase("publish");
  const auto result = publisher_.publish(version, trainer_.values(), patience());
  metrics_["perf/update_weights_time"] = result.seconds;
  metrics_["perf/update_weights_density"] = result.density;
  metrics_["perf/update_weights_wire_bytes"] = static_cast<double>(result.wire_bytes);
  client_.report_published(version);
}

void TrainerRole::save() const {
  const auto& run = setup_.configuration.run;
  const auto directory = save_directory(run);
  if (!first_ || directory.empty()) return;
  trainer_.save_hf(storage::real_file_system(), directory, run.hf_checkpoint);
  base::log_info("weights written to " + directory.string());
}

}  // namespace physarum::app
