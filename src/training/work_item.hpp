#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "physarum/sample/batch.hpp"

#include "physarum/model/packed_batch.hpp"

#include "physarum/training/options.hpp"

namespace physarum::training {

/// Observed samples have no part in the gradient (their advantages are 0): they are run forward for
/// the metrics, but not backward.
enum class Part { learnt, observed };

/// Samples that go through the model together. N trained tokens, S samples.
struct WorkItem {
  Part part = Part::learnt;
  model::PackedBatch packed;  ///< its targets are the trained tokens, [N], with their nuclei
  std::vector<std::int64_t> sample_starts{0};  ///< [S + 1], into the targets
  std::vector<double> advantages;              ///< [S]
  std::vector<double> token_weights;           ///< [S]
  std::vector<float> rollout_log_probs;        ///< [N]; empty for supervised samples
  std::vector<float> old_log_probs;            ///< [N] once the old policy was asked, else empty

  /// Appends a sample's tokens up to the last trained one; it must have one.
  void append(const sample::Sample& sample, double advantage, double token_weight);
  [[nodiscard]] std::int64_t n_samples() const {
    return static_cast<std::int64_t>(advantages.size());
  }
};

/// This rank's work in one optimiser step: each micro-batch of the plan as one item, or as two if
/// some of its samples are only observed. Samples without trained tokens are left out. `advantages`
/// and `token_weights` by index into plan.samples.
[[nodiscard]] std::vector<WorkItem> make_work(const sample::Batch& batch,
                                              std::int64_t optimiser_step,
                                              std::span<const double> advantages,
                                              std::span<const double> token_weights,
                                              const LossOptions& options);

}  // namespace physarum::training
