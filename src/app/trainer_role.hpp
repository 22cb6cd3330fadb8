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

#include "setup.hpp"

namespace physarum::app {

/// A trainer rank's part of the circle: take, step, publish, until the last step.
class TrainerRole {
 public:
  /// Collective over the trainer ranks. `initial`: all weights; they become version 0.
  TrainerRole(const Setup& setup, parallel::Layout& layout, exchange::Transport& transport,
              weights::Publisher& publisher, std::span<const float> initial);

  /// Publishes version 0: engines may begin. Collective over the trainer ranks.
  void open();
  /// Runs all steps. `while_waiting` is one turn of what else this rank does (a colocated engine),
  /// true if it did something; it is called until the next batch has come.
  void run(const std::function<bool()>& while_waiting);

  /// The final masters' checksum; the same on all trainer ranks.
  [[nodiscard]] std::string checksum() const { return trainer_.checksum().hex(); }
  /// First trainer rank: writes --save-hf, if given.
  void save() const;

 private:
  sample::Batch take(std::int64_t step, const std::function<bool()>& while_waiting);
  void publish(base::WeightVersion version);
  void learn(const sample::Batch& batch);
  [[nodiscard]] base::Deadline patience() const;

  const Setup& setup_;
  bool first_;
  weights::Publisher& publisher_;
  exchange::BatchClient client_;
  training::Trainer trainer_;
  base::Scalars metrics_;  ///< of the step in progress
};

}  // namespace physarum::app
