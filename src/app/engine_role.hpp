#pragma once

#include "physarum/weights/puller.hpp"

#include "physarum/exchange/work_client.hpp"

#include "physarum/rollout/rollout_worker.hpp"

#include "engine_memory.hpp"
#include "setup.hpp"
#include "world_ranks.hpp"

namespace physarum::app {

/// A rollout rank's part of the circle: a client of the buffer and the worker that uses it.
class EngineRole {
 public:
  EngineRole(const Setup& setup, exchange::Transport& transport, weights::Puller& puller)
      : work_(transport, world_ranks(setup.plan.buffer_ranks())),
        worker_({.work = work_,
                 .puller = puller,
                 .catalogue = setup.catalogue,
                 .model = setup.model,
                 .tokenizer = setup.tokenizer,
                 .prompts = setup.prompt_encoder,
                 .environments = *setup.environments,
                 .seed = setup.configuration.run.seed},
                engine_options(setup)) {}

  /// One turn; true if it did something.
  bool advance() { return !worker_.finished() && worker_.advance(); }
  [[nodiscard]] bool finished() const { return worker_.finished(); }
  [[nodiscard]] exchange::EngineCounters counters() const { return worker_.counters(); }
  [[nodiscard]] base::Scalars statistics() const { return worker_.statistics(); }

 private:
  exchange::WorkClient work_;
  rollout::RolloutWorker worker_;
};

}  // namespace physarum::app
