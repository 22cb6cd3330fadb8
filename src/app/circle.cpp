#include "circle.hpp"

#include <utility>

#include "physarum/base/logging.hpp"

#include "physarum/parallel/agree.hpp"
#include "physarum/parallel/signals.hpp"
#include "physarum/parallel/wait.hpp"

#include "physarum/storage/checkpoint.hpp"

#include "physarum/weights/image.hpp"

#include "finish_run.hpp"

namespace physarum::app {

Circle::Circle(Setup& setup, parallel::Layout& layout, BufferTask task)
    : setup_(setup),
      layout_(layout),
      task_(task),
      transport_(layout.world()),
      weights_(wire_weights(layout, setup, task.trains)) {
  make_buffer_and_engine();
  if (!setup_.initial) return;
  const std::span<const float> initial = std::as_const(*setup_.initial).values();
  if (task_.trains) {
    make_trainer(initial);
  } else {
    publish_alone(initial);
  }
  // They are with the trainer or in the store now; a copy would cost as much as the optimiser's.
  setup_.initial.reset();
}

void Circle::make_buffer_and_engine() {
  parallel::together(layout_.world(), [&] {
    if (layout_.is_buffer()) {
      buffer_.emplace(setup_, layout_, transport_, weights_.store(), task_);
    }
    if (layout_.is_rollout()) engine_.emplace(setup_, transport_, *weights_.puller());
  });
}

void Circle::make_trainer(std::span<const float> initial) {
  trainer_.emplace(setup_, layout_, transport_, *weights_.publisher(), initial);
}

void Circle::publish_alone(std::span<const float> initial) {
  weights_.publisher()->publish(base::WeightVersion(setup_.weight_version), initial,
                                base::Deadline::in(wiring_patience_s));
  checksum_ = weights::digest_of(setup_.catalogue, initial).hex();
}

void Circle::run() {
  std::optional<parallel::ProgressHook> hook;
  if (buffer_ && trainer_) {
    hook.emplace([this] {
      pass_signal_on();
      return buffer_->advance();
    });
  }
  if (trainer_) {
    if (setup_.resume) resumed_state_checksum_ = trainer_->state_checksum();
    trainer_->open();
    trainer_->run([this] {
      pass_signal_on();
      return engine_ && engine_->advance();
    });
    checksum_ = trainer_->checksum();
    state_checksum_ = trainer_->state_checksum();
  }
  serve_to_the_end(hook.has_value());
}

void Circle::pass_signal_on() {
  if (signal_passed_on_ || parallel::stop_signal() == 0) return;
  signal_passed_on_ = true;
  base::log_info("signal " + std::to_string(parallel::stop_signal()) +
                 ": a checkpoint, then the end; a second signal ends the run at once");
  if (buffer_) return buffer_->ask_stop();
  exchange::send(transport_, base::WorldRank(setup_.plan.buffer_ranks().front()),
                 exchange::StopRequest{});
}

void Circle::serve_to_the_end(bool hooked) {
  const parallel::Phase phase("serve");
  parallel::Backoff backoff;
  while ((engine_ && !engine_->finished()) || (buffer_ && !buffer_->finished())) {
    if (!trainer_) pass_signal_on();
    bool busy = engine_ && engine_->advance();
    if (buffer_ && !hooked) busy = buffer_->advance() || busy;
    if (parallel::serve_hooks() || busy) {
      backoff.reset();
    } else {
      backoff.pause();
    }
  }
}

Circle::Ending Circle::ending() const {
  if (!trainer_) return {};
  const auto& saver = trainer_->saver();
  Ending ending{
      .written = saver.written(), .failed = saver.failed(), .last_step = saver.last_step()};
  if (trainer_->stopped()) ending.exit = base::ExitCode::requeue_me;
  // Whoever counts on checkpoints must learn that one is missing.
  if (saver.failed() > 0) ending.exit = base::ExitCode::rank_failed;
  return ending;
}

base::ExitCode Circle::close(const base::Stopwatch& watch) {
  if (trainer_ && !trainer_->stopped()) trainer_->save();
  if (!transport_.flush(base::Deadline::in(wiring_patience_s))) {
    base::log_warning("messages were still under way at the end");
  }
  const int holder = task_.trains ? layout_.plan().trainer_ranks().front() : 0;
  for (auto* checksum : {&checksum_, &state_checksum_, &resumed_state_checksum_})
    layout_.world().broadcast_string(*checksum, holder);
  const Ending mine = ending();
  const Ending told = layout_.world().all_gather(mine)[static_cast<std::size_t>(holder)];
  const auto engines = layout_.world().all_gather(
      engine_ ? EngineFigures::of(engine_->statistics(), engine_->counters()) : EngineFigures{});
  if (buffer_ && buffer_->reporter() != nullptr) write_summary(watch, told, engines);
  engine_.reset();
  trainer_.reset();
  buffer_.reset();
  transport_.close();
  weights_.close();
  return told.exit;
}

/// Of a run without trainers: nothing else takes time there.
void Circle::report_rollouts(Summary& summary, std::span<const EngineFigures> engines) {
  const auto figures = throughput(engines);
  summary.set_all(figures);
  const auto text = buffer_->reporter()->rollout_text();
  if (!text.empty()) base::log_info(text);
  if (const auto failed = buffer_->reporter()->failed_samples(); failed > 0) {
    base::log_warning(std::to_string(failed) +
                      " samples have failed; each has its reason beside it in the samples");
  }
  base::log_info("throughput: " + throughput_text(figures));
}

void Circle::write_summary(const base::Stopwatch& watch, const Ending& ending,
                           std::span<const EngineFigures> engines) {
  Summary summary = run_summary(setup_, layout_.world().size(), watch.seconds());
  buffer_->reporter()->fill(summary);
  summary.set("exit", static_cast<int>(ending.exit));
  summary.set("steps", task_.trains ? buffer_->reporter()->steps_done() : task_.steps);
  const bool unfinished = ending.exit == base::ExitCode::requeue_me;
  summary.set(!task_.trains ? "weights_checksum"
              : unfinished  ? "checkpoint_weights_checksum"
                            : "final_weights_checksum",
              checksum_);
  if (task_.trains) {
    summary.set("state_checksum", state_checksum_);
    summary.set("checkpoints_written", ending.written);
    summary.set("checkpoints_failed", ending.failed);
    if (ending.last_step >= 0) {
      summary.set("last_checkpoint",
                  (setup_.checkpoints() / storage::checkpoint_name(ending.last_step)).string());
    }
    if (setup_.resume) {
      summary.set("resumed_from", setup_.resume->path.string());
      summary.set("resumed_state_checksum", resumed_state_checksum_);
    }
  }
  fill_counters(summary, buffer_->counters());
  buffer_->reporter()->clear_line();
  if (!task_.trains) {
    summary.set("weight_version", setup_.weight_version);
    report_rollouts(summary, engines);
  }
  finish_run(setup_, summary, ending.exit);
}

}  // namespace physarum::app
