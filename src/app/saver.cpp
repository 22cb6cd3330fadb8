#include "saver.hpp"

#include <cstdio>
#include <optional>
#include <utility>

#include "physarum/base/deadline.hpp"

#include "physarum/parallel/wait.hpp"

#include "physarum/app/version.hpp"

#include "checkpoint_content.hpp"

namespace physarum::app {

namespace {

std::string written_text(const storage::SaveOutcome& outcome) {
  char text[128];
  const double megabytes = static_cast<double>(outcome.bytes) / 1e6;
  std::snprintf(text, sizeof text, ": %.1f MB in %.2f s", megabytes, outcome.seconds);
  return "checkpoint " + outcome.path.string() + text;
}

}  // namespace

Saver::Saver(const Setup& setup, const parallel::Communicator& trainers,
             exchange::BatchClient& client, training::Trainer& trainer)
    : setup_(setup),
      trainers_(trainers),
      client_(client),
      trainer_(trainer),
      writer_(storage::real_file_system(),
              {.directory = setup.checkpoints(),
               .keep = setup.configuration.checkpoint.keep_checkpoints,
               .timeout_s = setup.configuration.buffer.patience_s()},
              trainers) {}

bool Saver::due(std::int64_t step) const {
  const auto& interval = setup_.configuration.checkpoint.save_interval;
  return interval && (step % *interval == 0 || step == setup_.steps);
}

buffer::BufferState Saver::snapshot(std::int64_t step, const std::function<bool()>& while_waiting) {
  const auto deadline = base::Deadline::in(setup_.configuration.buffer.patience_s());
  client_.request_snapshot(step);
  std::optional<std::vector<base::Bytes>> parts;
  const auto come = [&] { return (parts = client_.try_snapshot()).has_value(); };
  if (!parallel::wait_until(come, deadline, while_waiting)) {
    parallel::throw_deadline("trainer", "the buffer's part of checkpoint " + std::to_string(step),
                             deadline);
  }
  std::vector<buffer::BufferState> states;
  for (const auto& part : *parts) states.push_back(buffer::BufferState::decode(part));
  return buffer::BufferState::merge(std::move(states));
}

bool Saver::is_there(std::int64_t step) {
  finish();  // it may be under way
  std::uint8_t there = 0;
  if (trainers_.rank() == 0) {
    const auto path = setup_.checkpoints() / storage::checkpoint_name(step);
    there = storage::real_file_system().exists(path) ? 1 : 0;
    if (there != 0) {
      last_step_ = step;
      client_.report_notice({false, "checkpoint " + path.string() + " is there already"});
    }
  }
  return trainers_.all_reduce_value<std::uint8_t>(there, parallel::Op::max) != 0;
}

void Saver::save(std::int64_t step, const std::function<bool()>& while_waiting) {
  const parallel::Phase phase("save");
  if (is_there(step)) return;
  const auto& options = setup_.configuration.checkpoint;
  buffer::BufferState state;
  if (trainers_.rank() == 0) state = snapshot(step, while_waiting);
  const auto bulk = trainer_.bulk(options.save_optim ? training::OptimiserState::saved
                                                     : training::OptimiserState::none);
  storage::CheckpointContent content;
  content.step = step;
  content.weight_version = step;
  content.program_version = std::string(version);
  content.hosts = setup_.hosts;
  content.shares =
      storage::split_evenly(bulk.datasets, bulk.memory, trainers_.rank(), trainers_.size());
  content.bulk = bulk.datasets;
  content.rest = [&](storage::File& file) {
    write_run_facts(file, setup_);
    trainer_.write_state(file);
    state.write(file);
  };
  writer_.begin(content,
                options.async_save ? storage::SaveMode::background : storage::SaveMode::wait);
  look();
}

void Saver::look() {
  for (const auto& outcome : writer_.take_outcomes()) {
    if (outcome.good) {
      ++written_;
      last_step_ = outcome.step;
      client_.report_notice({false, written_text(outcome)});
    } else {
      ++failed_;
      client_.report_notice({true, "checkpoint " + outcome.path.string() +
                                       " could not be written; the one before stays, training goes "
                                       "on: " +
                                       outcome.text});
    }
  }
}

void Saver::finish() {
  writer_.wait();
  look();
}

}  // namespace physarum::app
