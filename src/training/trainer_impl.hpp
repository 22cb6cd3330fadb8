#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "physarum/model/parameter_store.hpp"
#include "physarum/model/transformer.hpp"

#include "physarum/training/trainer.hpp"

#include "loss.hpp"
#include "reference_model.hpp"
#include "weight_updater.hpp"
#include "work_item.hpp"

namespace physarum::training {

/// Where the time of one rollout step went, on this rank.
struct StepTimes {
  double old_log_probs_s = 0;
  double reference_s = 0;
  double train_s = 0;
  std::int64_t tokens = 0;           ///< that went through the policy in training steps
  std::int64_t backward_tokens = 0;  ///< of them, those that went backward too
};

class Trainer::Impl {
 public:
  Impl(const TrainerSetup& setup, std::span<const float> initial,
       const parallel::Communicator& trainers);

  StepMetrics step(const sample::Batch& batch);
  std::vector<float> log_probs(const model::PackedBatch& packed);

  TrainerSetup setup;
  const parallel::Communicator& trainers;
  model::ParameterStore store;
  model::Transformer transformer;
  WeightUpdater updater;
  std::unique_ptr<ReferenceModel> reference;
  std::int64_t skipped_steps = 0;

 private:
  const LossOptions& loss() const { return setup.options.loss; }
  std::vector<std::vector<WorkItem>> plan_work(const sample::Batch& batch,
                                               const std::vector<double>& advantages) const;
  void ask_old_policy(std::vector<std::vector<WorkItem>>& work, StepTimes& times);
  std::vector<float> ask_reference(const WorkItem& item, StepTimes& times);
  base::Scalars optimiser_step(const std::vector<WorkItem>& items, StepTimes& times);
  void learn(const WorkItem& item, LossSums& sums, StepTimes& times);
  base::Scalars change_weights(LossSums& sums);
};

/// Means over optimiser steps, statistics of the batch, times.
[[nodiscard]] StepMetrics summarise_step(std::vector<base::Scalars> steps,
                                         const sample::BatchPlan& plan,
                                         const std::vector<double>& advantages,
                                         const StepTimes& times);

}  // namespace physarum::training
