#include "circle.hpp"

#include <utility>

#include "physarum/base/logging.hpp"

#include "physarum/parallel/agree.hpp"
#include "physarum/parallel/wait.hpp"

#include "physarum/weights/image.hpp"

#include "finish_run.hpp"

namespace physarum::app {

Circle::Circle(const Setup& setup, parallel::Layout& layout, BufferTask task)
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
  weights_.publisher()->publish(base::WeightVersion(0), initial,
                                base::Deadline::in(wiring_patience_s));
  checksum_ = weights::digest_of(setup_.catalogue, initial).hex();
}

void Circle::run() {
  std::optional<parallel::ProgressHook> hook;
  if (buffer_ && trainer_) hook.emplace([this] { return buffer_->advance(); });
  if (trainer_) {
    trainer_->open();
    trainer_->run([this] { return engine_ && engine_->advance(); });
    checksum_ = trainer_->checksum();
  }
  serve_to_the_end(hook.has_value());
}

void Circle::serve_to_the_end(bool hooked) {
  const parallel::Phase phase("serve");
  parallel::Backoff backoff;
  while ((engine_ && !engine_->finished()) || (buffer_ && !buffer_->finished())) {
    bool busy = engine_ && engine_->advance();
    if (buffer_ && !hooked) busy = buffer_->advance() || busy;
    if (parallel::serve_hooks() || busy) {
      backoff.reset();
    } else {
      backoff.pause();
    }
  }
}

void Circle::close(const base::Stopwatch& watch) {
  if (trainer_) trainer_->save();
  if (!transport_.flush(base::Deadline::in(wiring_patience_s))) {
    base::log_warning("messages were still under way at the end");
  }
  const int holder = task_.trains ? layout_.plan().trainer_ranks().front() : 0;
  layout_.world().broadcast_string(checksum_, holder);
  if (buffer_ && buffer_->reporter() != nullptr) write_summary(watch, checksum_);
  engine_.reset();
  trainer_.reset();
  buffer_.reset();
  transport_.close();
  weights_.close();
}

void Circle::write_summary(const base::Stopwatch& watch, const std::string& checksum) {
  Summary summary = run_summary(setup_, layout_.world().size(), watch.seconds());
  buffer_->reporter()->fill(summary);
  summary.set("steps", task_.trains ? buffer_->reporter()->steps_done() : task_.steps);
  summary.set(task_.trains ? "final_weights_checksum" : "weights_checksum", checksum);
  fill_counters(summary, buffer_->counters());
  buffer_->reporter()->clear_line();
  finish_run(setup_, summary);
}

}  // namespace physarum::app
