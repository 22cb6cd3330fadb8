#include "trainer_role.hpp"

#include <utility>

#include "physarum/base/logging.hpp"

#include "physarum/parallel/wait.hpp"

#include "physarum/storage/file_system.hpp"

#include "run_directory.hpp"
#include "world_ranks.hpp"

namespace physarum::app {

namespace {

training::TrainerSetup trainer_setup(const Setup& setup, weights::ChangeLog& changes) {
  const auto& all = setup.configuration;
  return {.options = all.training,
          .model = setup.model,
          .transfer_type = all.weights.transfer_type,
          .temperature = all.rollout.temperature,
          .total_steps = setup.steps * all.buffer.steps_per_rollout(),
          .changes = &changes};
}

}  // namespace

TrainerRole::TrainerRole(Setup& setup, parallel::Layout& layout, exchange::Transport& transport,
                         weights::Publisher& publisher, std::span<const float> initial)
    : setup_(setup),
      trainers_(layout.trainer()),
      publisher_(publisher),
      client_(transport, world_ranks(setup.plan.buffer_ranks()),
              {.trainer_rank = layout.trainer().rank(), .dp_rank = layout.trainer().rank()}),
      trainer_(trainer_setup(setup, publisher.changes()), initial, layout.trainer()),
      saver_(setup, layout.trainer(), client_, trainer_) {
  if (setup.resume && setup.resume->optimiser)
    trainer_.restore(std::move(*std::exchange(setup.resume->optimiser, {})));
}

base::Deadline TrainerRole::patience() const {
  return base::Deadline::in(setup_.configuration.buffer.patience_s());
}

void TrainerRole::open() { publish(base::WeightVersion(setup_.first_step())); }

void TrainerRole::run(const Turn& while_waiting) {
  if (setup_.first_step() < setup_.steps) run_steps(while_waiting);
  saver_.finish();
  client_.finish();
}

void TrainerRole::run_steps(const Turn& while_waiting) {
  const bool ahead = setup_.configuration.buffer.takes_before_publishing();
  base::Stopwatch whole;
  std::int64_t step = setup_.first_step();
  Taken taken = take(step, while_waiting);
  while (true) {
    if (!taken.batch) {
      if (!between(step, taken.errand, while_waiting)) return;
      taken = take(step, while_waiting);
      continue;
    }
    learn(*taken.batch);
    const bool more = ++step < setup_.steps;
    // With weights that stay constant within a batch, the next batch must be complete before the
    // version that it was generated with is replaced.
    taken = more && ahead ? take(step, while_waiting) : Taken{};
    if (publishes(step)) publish(base::WeightVersion(step));
    metrics_["perf/step_time"] = whole.restart();
    client_.report_step(step - 1, metrics_);
    metrics_.clear();
    if (!between(step, taken.errand, while_waiting) || !more) return;
    if (!ahead) taken = take(step, while_waiting);
  }
}

bool TrainerRole::between(std::int64_t step, const std::optional<exchange::Errand>& errand,
                          const Turn& while_waiting) {
  saver_.look();
  if (errand || saver_.due(step)) {
    const base::Stopwatch watch;
    saver_.save(step, while_waiting);
    metrics_["perf/save_time"] += watch.seconds();
  }
  stopped_ = errand == exchange::Errand::save_and_stop;
  return !stopped_;
}

TrainerRole::Taken TrainerRole::take(std::int64_t step, const Turn& while_waiting) {
  const parallel::Phase phase("take");
  base::Stopwatch watch;
  const auto deadline = patience();
  client_.request(step);
  Taken taken;
  const auto answered = [&] {
    taken.batch = client_.try_take();
    const auto order = client_.take_errand();
    if (order) taken.errand = order->errand;
    return taken.batch.has_value() ||
           (order && order->form == exchange::ErrandForm::instead_of_batch);
  };
  const auto turn = [&] {
    saver_.look();
    return while_waiting();
  };
  if (!parallel::wait_until(answered, deadline, turn)) {
    parallel::throw_deadline("trainer", "the batch of step " + std::to_string(step), deadline);
  }
  if (!taken.batch) return taken;
  // A colocated buffer serves nobody while its rank learns: no trainer begins before all have their
  // samples, or the others would wait for its whole step.
  if (setup_.plan.colocated()) trainers_.barrier(deadline);
  metrics_["perf/train_wait_time"] += watch.seconds();
  return taken;
}

void TrainerRole::learn(const sample::Batch& batch) {
  const parallel::Phase phase("step");
  base::Stopwatch watch;
  auto step = trainer_.step(batch);
  metrics_.merge(step.scalars);
  metrics_["perf/train_time"] = watch.seconds();
}

bool TrainerRole::publishes(std::int64_t step) const {
  return step % setup_.configuration.weights.interval == 0 || step == setup_.steps;
}

void TrainerRole::publish(base::WeightVersion version) {
  const parallel::Phase phase("publish");
  const auto result = publisher_.publish(version, trainer_.values(), patience());
  metrics_["perf/update_weights_time"] = result.seconds;
  metrics_["perf/update_weights_density"] = result.density;
  metrics_["perf/update_weights_wire_bytes"] = static_cast<double>(result.wire_bytes);
  metrics_["perf/update_weights_image_bytes"] =
      static_cast<double>(setup_.catalogue->total_bytes());
  metrics_["perf/update_weights_encode_time"] = result.encode_s;
  metrics_["perf/update_weights_put_time"] = result.put_s;
  client_.report_published(version);
}

void TrainerRole::save() const {
  const auto& run = setup_.configuration.run;
  const auto directory = save_directory(run);
  if (trainers_.rank() != 0 || directory.empty()) return;
  trainer_.save_hf(storage::real_file_system(), directory, run.hf_checkpoint);
  base::log_info("weights written to " + directory.string());
}

}  // namespace physarum::app
