#pragma once

#include <cstdint>
#include <functional>

#include "physarum/parallel/layout.hpp"

#include "physarum/storage/checkpoint_writer.hpp"

#include "physarum/exchange/batch_client.hpp"

#include "physarum/training/trainer.hpp"

#include "setup.hpp"

namespace physarum::app {

/// A trainer rank's part in checkpoints: gets the buffer's state, writes both, tells the user.
class Saver {
 public:
  /// All outlive it.
  Saver(const Setup& setup, const parallel::Communicator& trainers, exchange::BatchClient& client,
        training::Trainer& trainer);

  /// Is a checkpoint due when `step` steps are finished?
  [[nodiscard]] bool due(std::int64_t step) const;
  /// Collective over the trainers, between two steps. A checkpoint of this step that is there
  /// already holds the same state and is left alone: it must not be replaced by a try.
  /// `while_waiting` is one turn of what else this rank does. Returns when the checkpoint is
  /// complete or has failed; with --async-save as soon as everything is copied. Throws
  /// DeadlineExceeded if the buffer does not answer.
  void save(std::int64_t step, const std::function<bool()>& while_waiting);
  /// Tells of background saves that have ended.
  void look();
  /// Collective over the trainers: waits for the last one.
  void finish();

  /// First trainer.
  [[nodiscard]] std::int64_t written() const { return written_; }
  [[nodiscard]] std::int64_t failed() const { return failed_; }
  [[nodiscard]] std::int64_t last_step() const { return last_step_; }

 private:
  [[nodiscard]] bool is_there(std::int64_t step);
  [[nodiscard]] buffer::BufferState snapshot(std::int64_t step,
                                             const std::function<bool()>& while_waiting);
  const Setup& setup_;
  const parallel::Communicator& trainers_;
  exchange::BatchClient& client_;
  training::Trainer& trainer_;
  storage::CheckpointWriter writer_;
  std::int64_t written_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t last_step_ = -1;  ///< of the newest that was written
};

}  // namespace physarum::app
