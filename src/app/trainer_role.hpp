#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "physarum/base/deadline.hpp"

#include "physarum/parallel/layout.hpp"

#include "physarum/sample/batch.hpp"

#include "physarum/weights/publisher.hpp"

#include "physarum/exchange/batch_client.hpp"

#include "physarum/training/trainer.hpp"

#include "saver.hpp"
#include "setup.hpp"

namespace physarum::app {

/// A trainer rank's part of the circle: take, step, publish, until the last step.
class TrainerRole {
 public:
  /// Collective over the trainer ranks. `initial`: all weights; they become version 0.
  TrainerRole(Setup& setup, parallel::Layout& layout, exchange::Transport& transport,
              weights::Publisher& publisher, std::span<const float> initial);

  /// Publishes the first version: engines may begin. Collective over the trainer ranks.
  void open();
  /// Runs all steps. `while_waiting` is one turn of what else this rank does (a colocated engine),
  /// true if it did something; it is called until the next batch has come.
  void run(const std::function<bool()>& while_waiting);

  /// The head told all trainers to save and stop.
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// How the checkpoints went; the first trainer's.
  [[nodiscard]] const Saver& saver() const { return saver_; }
  /// The final masters' checksum; the same on all trainer ranks.
  [[nodiscard]] std::string checksum() const { return trainer_.checksum().hex(); }
  /// Of weights and optimiser; the same on all trainer ranks, whatever their number was before.
  [[nodiscard]] std::string state_checksum() const { return trainer_.state_checksum().hex(); }
  /// First trainer rank: writes --save-hf, if given.
  void save() const;

 private:
  using Turn = std::function<bool()>;
  /// What the head answered: a batch, an errand, or both.
  struct Taken {
    std::optional<sample::Batch> batch;
    std::optional<exchange::Errand> errand;
  };
  Taken take(std::int64_t step, const Turn& while_waiting);
  void run_steps(const Turn& while_waiting);
  /// After a step: what is due before the next one. False: stop.
  bool between(std::int64_t step, const std::optional<exchange::Errand>& errand,
               const Turn& while_waiting);
  [[nodiscard]] bool publishes(std::int64_t step) const;
  void publish(base::WeightVersion version);
  void learn(const sample::Batch& batch);
  [[nodiscard]] base::Deadline patience() const;

  const Setup& setup_;
  const parallel::Communicator& trainers_;
  weights::Publisher& publisher_;
  exchange::BatchClient client_;
  training::Trainer trainer_;
  Saver saver_;
  bool stopped_ = false;
  base::Scalars metrics_;  ///< of the step in progress
};

}  // namespace physarum::app
