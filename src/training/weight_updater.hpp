#pragma once

#include <cstdint>
#include <span>

#include "physarum/weights/catalogue.hpp"
#include "physarum/weights/change_log.hpp"

#include "physarum/model/aligned_buffer.hpp"
#include "physarum/model/parameter_store.hpp"

#include "physarum/training/options.hpp"

#include "adamw.hpp"
#include "learning_rate.hpp"

namespace physarum::training {

/// What one optimiser step did.
struct UpdateResult {
  double gradient_norm = 0;  ///< before clipping
  double lr = 0;
};

/// The fp32 masters and what changes them: clip, schedule, AdamW; then the store's values are the
/// masters rounded to the transfer type, and what that changes is noted. Norm weights and biases
/// (one dimension) are not decayed, as in Megatron.
class WeightUpdater {
 public:
  /// Fills the store's values from `initial`. The store outlives the updater, and so do `changes`,
  /// if there are any.
  WeightUpdater(const OptimiserOptions& options, std::int64_t total_steps,
                weights::TransferType type, model::ParameterStore& store,
                std::span<const float> initial, weights::ChangeLog* changes);

  /// One step on the store's gradients, whose norm is `norm` and finite.
  UpdateResult update(double norm);

  [[nodiscard]] std::span<const float> masters() const { return masters_.span(); }
  [[nodiscard]] AdamW& adam() { return adam_; }
  [[nodiscard]] const AdamW& adam() const { return adam_; }
  [[nodiscard]] std::int64_t steps() const { return adam_.steps(); }
  /// Of the next step.
  [[nodiscard]] double lr() const { return rate_.at(steps()); }

 private:
  /// Brings these values to the masters.
  void restate(weights::Range elements);
  OptimiserOptions options_;
  weights::TransferType type_;
  model::ParameterStore& store_;
  model::AlignedBuffer masters_;
  LearningRate rate_;
  AdamW adam_;
  weights::ChangeLog* changes_;
};

}  // namespace physarum::training
